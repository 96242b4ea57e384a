import type { Node } from '../../main.ts';
import type { Review } from './review.ts';
import type { DemoRun } from './run-agent.ts';

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Commands to paste into another terminal, in this folder. Each is run by a test. */
export function nextSteps(
  node: Node,
  {
    runs,
    review,
    directory,
  }: { readonly runs: readonly DemoRun[]; readonly review: Review; readonly directory: string },
): string[] {
  const svc = `npm run -s svc --${node.restUrl === DEFAULT_URL ? '' : ` --url ${node.restUrl}`}`;
  const [report, summary, notes] = runs;
  return [
    `${svc} runs list`,
    `${svc} task logs ${summary?.executionId}`,
    `${svc} run repo-report --input ${quoted(directory)}`,
    `${svc} agent export repo-summary`,
    `curl -N ${node.restUrl}/v1/executions/${report?.executionId}/stream`,
    `${svc} session calls ${notes?.executionId}`,
    `${svc} why ${review.executionId}`,
    `${svc} approval approve ${review.approvalId} --feedback 'a fair summary'`,
  ];
}

const quoted = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
