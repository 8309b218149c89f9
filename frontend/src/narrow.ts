/** Whether the window is as narrow as a phone; the style sheet for phones uses the same width. */

import { useEffect, useState } from "preact/hooks";

const PHONE = "(max-width: 700px)";

export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia(PHONE).matches);
  useEffect(() => {
    const media = matchMedia(PHONE);
    const changed = (): void => setNarrow(media.matches);
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, []);
  return narrow;
}
