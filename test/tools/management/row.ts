import assert from 'node:assert/strict';
import type { Args, Result, Setting } from './setting.ts';

/** One thing a tool does or refuses (W34–W41). `by`: who calls it; default an operator. */
export interface Row {
  readonly tool: string;
  readonly what: string;
  readonly args: Args | ((at: Setting) => Args | Promise<Args>);
  readonly by?: 'user' | 'stranger' | 'service';
  /** A failure by its code and a part of its text, or what is asserted of the result. */
  readonly gives: readonly [code: string, text: RegExp] | ((result: Result, args: Args, at: Setting) => unknown);
  /** What is there after a failure. */
  readonly leaves?: (args: Args, at: Setting) => Promise<unknown>;
}

export const has =
  (expected: Result): Exclude<Row['gives'], readonly unknown[]> =>
  (result) =>
    assert.deepEqual({ ...result, ...expected }, result);

export const listOf = (value: unknown): readonly Result[] => {
  assert.ok(Array.isArray(value));
  return value;
};

export const noAgent = ['not_found', /agent not found/] as const;
export const noWorkflow = ['not_found', /workflow not found/] as const;
export const noTask = ['not_found', /^execution not found$/] as const;
export const noRun = ['not_found', /workflow execution not found/] as const;
