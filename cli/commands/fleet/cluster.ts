import type { Command } from 'commander';
import { contextOf } from '../../context.ts';
import { isObject, type JsonObject, listOf, textOf, textsOf } from '../../json.ts';
import { counted, print, table } from '../../output.ts';
import { printList } from '../../print-answer.ts';
import { several } from '../../read-input.ts';

/** `svc cluster …`: the fleet as a whole. */
export function cluster(program: Command): void {
  const group = program.command('cluster').description('the fleet as a whole: plans, partitions, takeovers');
  plan(group);
  group
    .command('partitions')
    .description('list the partitions with their nodes and loads')
    .action((_options: object, command: Command) =>
      printList(command, {
        path: '/v1/cluster/partitions',
        member: 'partitions',
        columns: ['partition', 'node', 'actors', 'waiting_messages'],
      }),
    );
  group
    .command('takeovers')
    .description('list which nodes took over which partitions, when and why; newest first')
    .option('--node <node>', 'only what this node took over')
    .action(({ node }: { node?: string }, command: Command) =>
      printList(command, {
        path: '/v1/cluster/takeovers',
        member: 'takeovers',
        query: { node },
        columns: ['at', 'node', 'from', 'reason', 'pool', 'partitions', 'because'],
        row: (one) => ({ ...one, because: textsOf(one, 'because').join(',') || '-' }),
      }),
    );
}

interface PlanOptions {
  readonly without: readonly string[];
  readonly join: readonly string[];
}

/** `svc cluster plan`: which partitions would move, and which work would wait. */
function plan(group: Command): void {
  group
    .command('plan')
    .description('show what would happen if nodes left or joined; changes nothing')
    .option('--without <node>', 'node that leaves; repeatable', several, [])
    .option('--join <nodes>', 'nodes that join, as tags=gpu,count=2 (also role, weight); repeatable', several, [])
    .action(async ({ without, join }: PlanOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('GET', '/v1/cluster/plan', { query: { without, join }, repeatable: true });
      await print(output, { value: answer, text: planText(answer) });
    });
}

function planText(answer: JsonObject): string {
  const nodes = listOf(answer, 'nodes').map((one) => ({
    ...one,
    before: sharesText(one.before),
    after: sharesText(one.after),
  }));
  const moves = listOf(answer, 'pools').flatMap((pool) =>
    listOf(pool, 'moves').map((move) => ({ pool: pool.pool, ...move })),
  );
  const parts = [
    `${counted(Number(answer.moved_partitions), 'partition')} with ${counted(Number(answer.moved_actors), 'actor')} would move`,
    '',
    table(nodes, ['node_id', 'change', 'before', 'after']),
  ];
  if (moves.length > 0) parts.push('', table(moves, ['pool', 'from', 'to', 'partitions', 'actors']));
  const lines = consequences(answer);
  if (lines.length > 0) parts.push('', ...lines);
  return parts.join('\n');
}

/** Work that would have no node. */
function consequences(answer: JsonObject): string[] {
  const lines = listOf(answer, 'pools').flatMap((pool) => {
    const reason = textOf(pool.waiting_for, 'reason');
    return reason === ''
      ? []
      : [`pool ${textOf(pool, 'pool')}: ${reason}${pool.was_served === true ? '' : ' (already now)'}`];
  });
  const lost = textsOf(answer, 'lost_tags');
  if (lost.length > 0) lines.push(`no node would have: ${lost.join(', ')}`);
  const waiting = isObject(answer.waiting_runs) ? answer.waiting_runs : {};
  if (Number(waiting.count) === 0) return lines;
  lines.push(
    `${waiting.complete === true ? '' : 'at least '}${counted(Number(waiting.count), 'unfinished run')} would wait:`,
  );
  lines.push(table(listOf(waiting, 'runs'), ['id', 'kind', 'name', 'status', 'pool']));
  return lines;
}

/** `default 22, system 8`. */
const sharesText = (shares: unknown): string =>
  isObject(shares) && Object.keys(shares).length > 0
    ? Object.entries(shares)
        .map(([pool, count]) => `${pool} ${String(count)}`)
        .join(', ')
    : '-';
