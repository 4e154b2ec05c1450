"""Formats of documents, one file each.

To add a format, put a module here with a tuple `FORMATS`; `registry` finds it. It needs nothing else, as in this reader
of subtitles, whose places are cues:

    from graphwright.data.formats.format import Extracted, File, Format, TextBuilder

    def read(file: File) -> Iterator[Extracted]:
        builder = TextBuilder("cue")
        for cue in file.text().split("\\n\\n"):
            builder.place()
            builder.block(cue)
        yield builder.extracted()

    FORMATS = (Format("subtitles", (".srt",), read),)

`format` has these classes, `parsing` code that formats share.
"""
