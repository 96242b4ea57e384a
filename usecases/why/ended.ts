import type { EndedExecution } from '../../actors/execution/state.ts';
import { own } from '../../actors/workflow/json-values.ts';
import type { EndedWorkflow } from '../../actors/workflow/state.ts';
import { lastStateError } from '../../actors/workflow/view.ts';
import { isJsonObject } from '../../runtime/json.ts';
import { counted } from '../../runtime/kit/counted.ts';
import type { LinkOf, WhyLink } from './links.ts';

/** The causes of the end of an execution, after its own link: the error, and the attempt and verdict behind it. */
export function endOfExecution(state: EndedExecution): WhyLink[] {
  const { status, reason, last_error, iteration_count } = state;
  if (status === 'completed') return [];
  if (status === 'cancelled') return [cancelLink(reason)];
  const code = reason ?? 'failed';
  const last = state.attempts.at(-1);
  if (last === undefined) return [errorLink(code, last_error ?? code)];
  const error = { code: last.error_type, message: last.message };
  const attempt: LinkOf<'attempt'> = {
    kind: 'attempt',
    id: String(last.iteration),
    until: null,
    reason: `iteration ${last.iteration} failed with ${last.error_type} (${shortened(last.message)})`,
    error,
    exit_code: last.exit_code,
  };
  const refused = last.verdicts.find(({ passed }) => !passed);
  const verdict: LinkOf<'verdict'>[] =
    refused === undefined
      ? []
      : [
          {
            kind: 'verdict',
            id: refused.validator,
            until: null,
            reason: `validator ${refused.validator} refused the output (${shortened(refused.reason)})`,
            validator: refused.validator,
            score: refused.score,
          },
        ];
  const said =
    code === 'max_iterations_exceeded' ? `none of ${counted(iteration_count, 'iteration')} was accepted` : null;
  const outer: LinkOf<'error'> =
    said === null ? errorLink(code, last_error ?? code) : { ...errorLink(code, said), reason: `${code} (${said})` };
  return code === last.error_type ? [attempt, ...verdict] : [outer, attempt, ...verdict];
}

/** A run that a workflow's last state waited for. */
interface EndedChild {
  readonly kind: 'execution' | 'workflow';
  readonly id: string;
}

/** The child whose end ended a workflow's last state. */
export function childOfEnd({ blackboard, current_state, status }: EndedWorkflow): EndedChild | null {
  if (status === 'cancelled' || current_state === null) return null;
  const record = own(blackboard, current_state);
  if (!isJsonObject(record) || own(record, 'status') !== 'failed') return null;
  const agent = own(record, 'execution_id');
  if (typeof agent === 'string') return { kind: 'execution', id: agent };
  const workflow = own(record, 'child_execution_id');
  return typeof workflow === 'string' ? { kind: 'workflow', id: workflow } : null;
}

/** `state review: agent "x" is not deployed in this tenant` */
const MISSING = /(agent|workflow) "([^"]+)" is not deployed/;

/** The causes of the end of a workflow run, after its own link and that of its state. */
export function endOfWorkflow(state: EndedWorkflow): WhyLink[] {
  const { status, reason, error } = state;
  if (status === 'completed') {
    const failed = lastStateError(state);
    return failed === null ? [] : [errorLink(failed.code, failed.message)];
  }
  if (status === 'cancelled') return [cancelLink(reason)];
  const code = reason ?? 'failed';
  const message = error ?? code;
  const link = errorLink(code, message);
  const [, of, name] = (code === 'not_found' ? MISSING.exec(message) : null) ?? [];
  if (name === undefined || (of !== 'agent' && of !== 'workflow')) return [link];
  const missing = `no version of ${of} ${name} is deployed`;
  return [
    { ...link, reason: code },
    { kind: 'version', id: name, until: null, reason: missing, of },
  ];
}

const errorLink = (code: string, message: string): LinkOf<'error'> => ({
  kind: 'error',
  id: code,
  until: null,
  reason: message === code ? code : `${code} (${shortened(message)})`,
  error: { code, message },
});

const cancelLink = (reason: string | null): LinkOf<'cancel'> => ({
  kind: 'cancel',
  id: null,
  until: null,
  reason: reason === null || reason === 'cancelled' ? 'a caller cancelled it' : `it was stopped (${shortened(reason)})`,
});

const MOST_CHARS = 300;

/** One line of a text, without its full stop. */
function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').replace(/[.\s]+$/, '');
  return line.length > MOST_CHARS ? `${line.slice(0, MOST_CHARS - 1)}…` : line;
}
