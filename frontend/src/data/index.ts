/** The one data layer of this page: live, or the report it is part of. */

import { frozen, type Report } from "./frozen";
import { live } from "./live";
import type { Data } from "./types";

function embedded(): Report | null {
  const found = document.getElementById("report");
  return found?.textContent ? (JSON.parse(found.textContent) as Report) : null;
}

const report = embedded();
export const data: Data = report ? frozen(report) : live;
export * from "./types";
