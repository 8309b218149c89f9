/** Error boundary: a sentence in place of a page that throws. */

import { Component, type ComponentChildren } from "preact";
import { sentence } from "../ask";
import { Problem } from "./say";

interface Props {
  at: string;
  children: ComponentChildren;
}

export class Boundary extends Component<Props, { problem: string; at: string }> {
  override state = { problem: "", at: "" };

  override componentDidCatch(problem: unknown): void {
    this.setState({ problem: sentence(problem), at: this.props.at });
  }

  render(): ComponentChildren {
    const { problem, at } = this.state;
    if (!problem || at !== this.props.at) return this.props.children;
    return <Problem>This cannot be shown: {problem}. Another view may work; the line itself is in its file.</Problem>;
  }
}
