import { CONTEXT_LIMITS, type ContextEntry, ContextTexts } from '../../../manifests/agent/context.ts';
import type { EffectResult } from '../../../runtime/effect.ts';
import { plainObject } from '../../../runtime/json.ts';
import { subjectOf } from '../inner-loop/audit.ts';
import { beginIteration } from '../iteration.ts';
import type { ExecutionTurn } from '../messages.ts';
import type { ExecutionPlan } from '../plan.ts';
import type { IdleExecution, RunningExecution } from '../state.ts';
import { nothingStreamed } from '../streamed.ts';

/** The part of a plan that holds `spec.context`: its text, or its entries while some of them must be read. */
export function plannedContext(
  entries: readonly ContextEntry[],
): Pick<ExecutionPlan, 'context'> & Partial<Pick<ExecutionPlan, 'context_entries'>> {
  if (entries.some(isRead)) return { context: '', context_entries: [...entries] };
  return { context: contextText(entries, []) };
}

type ReadEntry = Exclude<ContextEntry, { readonly type: 'text' }>;

const isRead = (entry: ContextEntry): entry is ReadEntry => entry.type !== 'text';

/** Begins the first iteration, after the files and URLs of `spec.context` were read. Throws as `beginIteration`. */
export function beginRun(execution: IdleExecution, turn: ExecutionTurn): RunningExecution {
  const { plan, started_at } = execution;
  if (plan.context_entries === undefined) return beginIteration(execution, turn);
  const current = { effect_id: '', in_doubt: 0, streamed: nothingStreamed };
  const leftMs = Math.max(1, Date.parse(started_at) + plan.execution_timeout_ms - turn.now);
  const effect_id = turn.effect({
    kind: 'context.read',
    mode: 'repeatable',
    input: plainObject({
      entries: plan.context_entries.flatMap((entry, index) => (isRead(entry) ? [{ index, entry }] : [])),
      grant: { ...plan.tools, manifest: null },
      subject: subjectOf({ ...execution, current }, execution.execution_id),
    }),
    replyAs: 'ContextRead',
    retry: { maxAttempts: 4, initialDelayMs: 500, maxDelayMs: 10_000 },
    timeoutMs: Math.min(leftMs, CONTEXT_LIMITS.attemptMs),
  });
  return { ...execution, current: { ...current, context: { effect_id } } };
}

/** Value of the template variable `context`: each entry below its description, in the order of the manifest. */
function contextText(entries: readonly ContextEntry[], texts: readonly string[]): string {
  const read = texts.values();
  return entries
    .map((entry) => {
      const text = isRead(entry) ? read.next().value : entry.content;
      const head = entry.description ?? placeOf(entry);
      return head === undefined ? text : `${head}:\n${text}`;
    })
    .join('\n\n');
}

/** Label of an entry that has no description in the manifest. */
function placeOf(entry: ContextEntry): string | undefined {
  if (entry.type === 'text') return undefined;
  return entry.type === 'url' ? entry.url : entry.path;
}

/** The text of all entries after the read; null for a malformed result. */
export function readContext(plan: ExecutionPlan, { outcome }: Pick<EffectResult, 'outcome'>): string | null {
  const { context_entries = [] } = plan;
  const read = ContextTexts.safeParse(outcome.kind === 'done' ? outcome.value : null);
  if (!read.success || read.data.texts.length !== context_entries.filter(isRead).length) return null;
  return contextText(context_entries, read.data.texts);
}
