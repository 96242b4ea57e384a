import type { JsonObject } from '../../../runtime/json.ts';

/** What an execution is started with. */
export interface TaskInput {
  /** `{{input}}` of the agent's prompt. */
  readonly input: string;
  /** `{{context.KEY}}` and, where the name is not one of the prompt's own, `{{KEY}}`. */
  readonly context?: JsonObject;
}

/**
 * Goal and values of a start (svc.task.execute) as an agent takes them: the text is the goal, then the values as JSON when
 * there are any; the values are there by name too.
 */
export function taskInput(intent: string | undefined, values: JsonObject): TaskInput {
  const hasValues = Object.keys(values).length > 0;
  const json = hasValues ? [JSON.stringify(values)] : [];
  const input = [...(intent === undefined ? [] : [intent]), ...json].join('\n\n');
  const context = { ...values, ...(intent === undefined ? {} : { intent }) };
  return Object.keys(context).length === 0 ? { input } : { input, context };
}
