import { z } from 'zod';
import type { ToolContract } from '../../manifests/tool/contract.ts';
import { systemText } from '../../usecases/fields.ts';

/** Longest path, pattern and command of a tool, in characters. */
export const PATH_CHARS = 4_096;

/** Longest text argument of a tool, in characters. */
const TEXT_CHARS = 10 * 1024 * 1024;

/** Schema of a tool's arguments: an object with these keys and no others. A null counts as missing (W29). */
export const toolArguments = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.preprocess(withoutNulls, z.strictObject(shape));

function withoutNulls(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
}

/** An absolute path, or one under /workspace. */
export const path = systemText(PATH_CHARS).min(1).describe('Absolute, or relative to /workspace.');

export const text = z.string().max(TEXT_CHARS);

/** Tools whose calls a judge checks if the agent's manifest has judges (W32). */
const JUDGED = [
  ...['cmd.run', 'fs.write', 'fs.edit', 'fs.multi_edit', 'fs.create_dir', 'fs.create.dir', 'fs.delete'],
  ...['svc.agent.generate', 'svc.workflow.delete', 'svc.workflow.run', 'svc.workflow.generate'],
  ...['svc.workflow.promote', 'svc.workflow.demote', 'svc.task.execute', 'svc.task.cancel', 'svc.task.remove'],
  'svc.execute.intent',
  ...['svc.approval.approve', 'svc.approval.reject'],
];

/** Tools without a judge. */
const NOT_JUDGED = [
  ...['fs.read', 'fs.list', 'fs.grep', 'fs.glob', 'web.search', 'web.fetch'],
  ...['svc.agent.list', 'svc.agent.search', 'svc.agent.export', 'svc.agent.create', 'svc.agent.update'],
  ...['svc.agent.delete', 'svc.agent.logs', 'svc.agent.wait'],
  ...['svc.workflow.list', 'svc.workflow.search', 'svc.workflow.export', 'svc.workflow.create', 'svc.workflow.update'],
  ...['svc.workflow.validate', 'svc.workflow.executions.list', 'svc.workflow.executions.get', 'svc.workflow.status'],
  ...['svc.workflow.logs', 'svc.workflow.wait', 'svc.workflow.cancel', 'svc.workflow.signal', 'svc.workflow.remove'],
  ...['svc.schema.get', 'svc.schema.validate', 'svc.task.status', 'svc.task.wait', 'svc.task.list', 'svc.task.logs'],
  ...['svc.execute.status', 'svc.execute.wait', 'svc.tools.list', 'svc.tools.search', 'svc.system.info'],
  ...['svc.system.config', 'svc.runtime.list'],
  ...['svc.trace.why', 'svc.trace.get', 'svc.approval.list'],
];

/** The `skip_judge` defaults of every built-in tool, by name and alias. */
export const SKIP_JUDGE: ReadonlyMap<string, boolean> = new Map([
  ...JUDGED.map((name) => [name, false] as const),
  ...NOT_JUDGED.map((name) => [name, true] as const),
]);

/** A contract, whose type follows from its input. Tools that the specification does not list are judged. */
export const defineContract = <Input extends z.ZodType>(
  contract: Omit<ToolContract<Input>, 'skipJudge'>,
): ToolContract<Input> => ({ ...contract, skipJudge: SKIP_JUDGE.get(contract.name) ?? false });

/** These tools run on the node that the call reaches. `mode` decides what happens to a call after a crash. */
const onNode = { runs: 'node' } as const;

/** For tools that change nothing: a call may be repeated. */
export const reading = { ...onNode, mode: 'repeatable', reads: true } as const;

/** For tools that change something: after a crash it is unknown whether the call did. */
export const changing = { ...onNode, mode: 'once', reads: false } as const;

/** For tools that start something under the call's own id: a call repeated after a crash starts nothing twice. */
export const starting = { ...onNode, mode: 'repeatable', reads: false } as const;
