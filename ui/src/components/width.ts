import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Return the width of an element in pixels, 0 before it is known. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const target = element.current;
    if (!target) return;
    const observer = new ResizeObserver(() => setWidth(Math.floor(target.clientWidth)));
    observer.observe(target);
    setWidth(Math.floor(target.clientWidth));
    return () => observer.disconnect();
  }, []);
  return width;
}
