import type { z } from 'zod';

/** What the arguments of a call touch, for the constraints of capabilities and manifests. */
export interface Touches {
  /** Absolute or relative to /workspace, as the caller wrote them; each with what is done to it. */
  readonly paths?: readonly { readonly field: string; readonly path: string; readonly access: 'read' | 'write' }[];
  /** Host names. */
  readonly domains?: readonly { readonly field: string; readonly domain: string }[];
  /** Reaches the network at no host of the caller's choice: a search. */
  readonly network?: true;
  readonly command?: { readonly base: string; readonly first: string | null };
}

/** A built-in tool, as far as it is pure. Its handler is beside it in `tools/`. */
export interface ToolContract<Input extends z.ZodType = z.ZodType> {
  /** `fs.read`. */
  readonly name: string;
  /** Other names it answers to: `fs.create.dir`. Offered and judged under the name above. */
  readonly aliases?: readonly string[];
  /** For the model and for people: what it does, in a sentence or two. */
  readonly description: string;
  readonly input: Input;
  /** Of the structured result, for tools that have one: published as its output schema, and what tests hold it to. */
  readonly result?: z.ZodType;
  /** Compiled-in default of spec 3, Inner-loop judge defaults. */
  readonly skipJudge: boolean;
  readonly mode: 'repeatable' | 'once';
  /** Changes nothing. */
  readonly reads: boolean;
  readonly runs: 'node' | 'agent';
  /** Pure. Absent: touches nothing that is constrained. */
  touches?(input: z.output<Input>): Touches;
}
