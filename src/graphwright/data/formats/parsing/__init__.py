"""Parts that several document formats share: XML, Office packages, and the layout of pages."""
