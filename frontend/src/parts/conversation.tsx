/** A rollout, or an example with its right calls, as a conversation. */

import type { ComponentChildren } from "preact";
import type { Call, Item, Json, Message, Served } from "../data";
import { CallView, type ShownCall } from "./call";
import { Why } from "./gold";
import { Prose, parsed } from "./text";

function Said({ role, children, again }: { role: string; children: ComponentChildren; again?: boolean }) {
  return (
    <div class={`said ${role} ${again ? "again" : ""}`}>
      <div class="role">{role}</div>
      <div class="what">{children}</div>
    </div>
  );
}

const plain = (content: Json | undefined): string => {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  if (Array.isArray(content)) {
    return content.map((part) => (part && typeof part === "object" && !Array.isArray(part) ? plain(part["text"]) : plain(part))).join("\n");
  }
  return JSON.stringify(content, null, 2);
};

function asWritten(raw: { function?: { name?: string; arguments?: string } }, result: string | undefined): ShownCall {
  const given: unknown = raw.function?.arguments ?? "";
  const text = typeof given === "string" ? given : JSON.stringify(given);
  const value = parsed(text);
  const fields = value && typeof value === "object" && !Array.isArray(value) ? value : null;
  return { tool: String(raw.function?.name ?? ""), arguments: fields, raw: text, ...(result === undefined ? {} : { result }) };
}

interface Piece {
  message: Message;
  index: number;
  calls: { call: ShownCall; number: number | null }[];
}

/** Messages with the calls they made; what a tool answered belongs to its call. */
function pieces(messages: Message[], made: Call[]): Piece[] {
  const out: Piece[] = [];
  let number = 0;
  const answers = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "tool" && message.tool_call_id) answers.set(message.tool_call_id, plain(message.content));
  }
  messages.forEach((message, index) => {
    if (message.role === "tool") return;
    const written = Array.isArray(message.tool_calls) ? message.tool_calls : [];
    const calls = written.map((raw) => {
      const known = made[number];
      const call = asWritten(raw, answers.get(raw.id ?? ""));
      return known ? { call: { ...call, ...known }, number: number++ } : { call, number: null };
    });
    out.push({ message, index, calls });
  });
  return out;
}

function Later({ minutes }: { minutes: number | undefined }) {
  if (!minutes) return null;
  const text = minutes % 1440 === 0 ? `${minutes / 1440} d` : minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`;
  return <div class="later"><span>{text} later</span></div>;
}

/** `spoken` leaves out the system message; `parted` is the first message in which two rollouts differ. */
export function Conversation({ item, open, parted, spoken = false }: { item: Item; open: boolean; parted?: number | null; spoken?: boolean }) {
  return item.rollout
    ? <Played item={item} open={open} parted={parted ?? null} spoken={spoken} />
    : <Planned item={item} open={open} />;
}

function Played({ item, open, parted, spoken }: { item: Item; open: boolean; parted: number | null; spoken: boolean }) {
  const rollout = item.rollout!;
  const serving = new Map<number, Served>(item.served.map((one) => [one.call, one]));
  let turn = -1;
  let last = "";
  return (
    <div class="conversation">
      {pieces(rollout.messages, rollout.calls ?? []).map(({ message, index, calls }) => {
        if (message.role === "user") turn++;
        if (spoken && message.role === "system") return null;
        const minutes = message.role === "user" ? item.example.turns[turn]?.minutes : 0;
        const text = plain(message.content);
        const again = last === message.role;
        last = message.role;
        const thought = plain(message.reasoning_content);
        return (
          <div key={index}>
            {parted === index && <div class="parted"><span>from here they differ</span></div>}
            <Later minutes={minutes} />
            <Said role={String(message.role)} again={again}>
              {thought && <div class="thought"><Prose text={thought} /></div>}
              {text && <Prose text={text} />}
              {calls.map(({ call, number }, at) => (
                <CallView key={at} call={call} judged served={number === null ? undefined : serving.get(number)} open={open} />
              ))}
              {!text && !calls.length && <p class="silent">said nothing</p>}
            </Said>
          </div>
        );
      })}
      <End item={item} />
    </div>
  );
}

function End({ item }: { item: Item }) {
  const rollout = item.rollout;
  if (!rollout || ((rollout.ended ?? "done") === "done" && !rollout.reason)) return null;
  const said: Record<string, string> = {
    turns: "Stopped: as many assistant turns as are allowed.",
    calls: "Stopped: as many calls as are allowed.",
    tokens: "Stopped: as many tokens as are allowed.",
    policy_error: "The policy failed.",
    server_bug: "A server has a bug.",
  };
  return <p class="ended">{said[rollout.ended ?? ""] ?? `Ended: ${rollout.ended}.`} {rollout.reason}</p>;
}

function Planned({ item, open }: { item: Item; open: boolean }) {
  const { example, gold } = item;
  return (
    <div class="conversation">
      {example.system && <Said role="system"><Prose text={example.system} /></Said>}
      {example.turns.map((turn, number) => {
        const steps = gold.filter((step) => step.turn === number);
        return (
          <div key={number}>
            <Later minutes={turn.minutes} />
            <Said role="user"><Prose text={turn.text} /></Said>
            <Said role="assistant">
              {steps.map((step) => (
                <CallView key={step.step} call={{ ...step, error: null }} judged open={open}
                  served={{ call: step.step, step: step.step, in_order: true, equal: 1 }} />
              ))}
              {!steps.length && <Why item={item} turn={number} />}
            </Said>
          </div>
        );
      })}
    </div>
  );
}
