/** One rollout that succeeded in all three parts and, where there is one, a rollout of the same example that failed. */

import { useAsk } from "../ask";
import { data, type Item, type Showcase, type Source } from "../data";
import { link } from "../route";
import { useBrief } from "../sources";
import { Conversation } from "./conversation";
import { Outcome, SuccessParts, figure } from "./marks";
import { Answer } from "./say";

interface Props {
  shown: Showcase;
  before: Source | null;
  after: Source;
}

export function ShowcaseView({ shown, before, after }: Props) {
  const { left, right } = shown;
  const asked = useAsk(JSON.stringify([shown, before?.id, after.id]), async () => Promise.all([
    before && left !== null ? data.item(before.id, left, {}) : null,
    data.item(after.id, right, {}),
  ]));
  return (
    <div class="showcase" aria-label="an example">
      <h3>{left === null ? "One that is right" : "One example, twice"}</h3>
      <Answer asked={asked} what="an example">
        {([failed, succeeded]) => (
          <div class={`showcase-sides ${failed ? "" : "alone"}`}>
            {failed && before && <Told item={failed} source={before} tone="left" />}
            <Told item={succeeded} source={after} tone="right" />
          </div>
        )}
      </Answer>
      {before && left !== null && <p class="panel-foot"><a href={link(["compare", "pair"], { left: before.id, left_at: left, right: after.id, right_at: right })}>See where they differ</a></p>}
    </div>
  );
}

function Told({ item, source, tone }: { item: Item; source: Source; tone: string }) {
  return (
    <section class={`one-side ${tone}`} aria-label={`${source.name}, ${tone}`}>
      <h4>
        <a href={link(["data", source.id, item.at])}>{useBrief()(source)}</a> <Outcome value={item.verdict} short />
        <SuccessParts item={item} /><span class="figure">{figure(item.total)}</span>
      </h4>
      <Conversation item={item} open={false} spoken />
    </section>
  );
}
