/** The one data layer of this page: over a running server, or over the report it is part of. */

import { answers } from "./answers";
import { frozen, type Report } from "./frozen";
import { live } from "./live";
import type { Data } from "./types";

function embedded(): Report | null {
  const found = document.getElementById("report");
  return found?.textContent ? (JSON.parse(found.textContent) as Report) : null;
}

const report = embedded();
export const data: Data = answers(report ? frozen(report) : live);
export const start = report?.start ?? "";
export * from "./types";
