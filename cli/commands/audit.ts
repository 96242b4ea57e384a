import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT, invalid } from '../failure.ts';
import { isObject, type JsonObject, listOf, parseJson } from '../json.ts';
import type { NodeClient } from '../node-client.ts';
import { counted, print } from '../output.ts';
import { printList } from '../print-answer.ts';
import { readText, unwritable, wholeNumber } from '../read-input.ts';

/** `svc audit …`: the signed records of tool calls, and of operations by operators and tenants. */
export function audit(program: Command): void {
  const group = program.command('audit').description('list what callers changed; export audit chains and verify them');
  list(group);
  exportChain(group);
  verify(group);
}

interface ListOptions {
  readonly subject?: string;
  readonly operation?: string;
  readonly outcome?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit?: string;
}

/** `svc audit list`: operations that changed the tenant, and denials. */
function list(group: Command): void {
  group
    .command('list')
    .description('list what callers of the tenant changed, and denials, newest first; for administrators')
    .option('--subject <subject>', 'who called')
    .option('--operation <name>', 'name of the operation, such as agents.delete')
    .option('--outcome <outcome>', 'ok, denied, failed or begun')
    .option('--from <time>', 'ISO 8601, inclusive')
    .option('--to <time>', 'ISO 8601, exclusive')
    .option('--limit <count>', 'maximum number of entries')
    .action(async ({ limit, ...conditions }: ListOptions, command: Command) => {
      const query = { ...conditions, limit: wholeNumber(limit, '--limit', 1) };
      const columns = ['at', 'subject', 'operation', 'target', 'outcome', 'error', 'count'];
      await printList(command, { path: '/v1/audit', member: 'entries', query, columns });
    });
}

/** `svc audit export [SESSION] [-o FILE]`. */
function exportChain(group: Command): void {
  group
    .command('export')
    .description('export audit chains: of a tool session, or without one those of the operations of the tenant')
    .argument('[session]', 'session id')
    .option('-o, --out <file>', 'output file (default: standard output)')
    .option('--jwks <file>', 'also write the public keys that verify the chain to this file')
    .action(async (session: string | undefined, options: { out?: string; jwks?: string }, command: Command) => {
      const { client } = contextOf(command);
      const exported =
        session === undefined
          ? await operationChains(client)
          : await client.json('GET', `/v1/seal/sessions/${encodeURIComponent(session)}/audit`, { repeatable: true });
      await write(options.out, exported, '--out');
      if (options.jwks === undefined) return;
      await write(options.jwks, await client.json('GET', '/.well-known/jwks.json', { repeatable: true }), '--jwks');
    });
}

/** Records read by one call. */
const PAGE = 1_000;

/** The chains of all nodes with their records, as `svc audit verify` reads them. */
async function operationChains(client: NodeClient): Promise<object> {
  const { tenant, chains, statements } = await client.json('GET', '/v1/audit/chains', { repeatable: true });
  const whole = [];
  for (const chain of listOf({ chains }, 'chains')) {
    const { node, first, checkpoint = null } = chain;
    const records: JsonObject[] = [];
    for (let after = Number(first) - 1, more = true; more; ) {
      const query = { node: String(node), after: String(after), limit: String(PAGE) };
      const page = listOf(await client.json('GET', '/v1/audit/records', { query, repeatable: true }), 'records');
      records.push(...page);
      after = Number(page.at(-1)?.sequence);
      more = page.length === PAGE;
    }
    whole.push({ node, checkpoint, records });
  }
  return { format: 'svc-audit-operations/v1', tenant, chains: whole, statements };
}

/** `svc audit verify FILE [--jwks FILE]`: needs no node. Exit code 1 when a chain is not intact. */
function verify(group: Command): void {
  group
    .command('verify')
    .description('verify exported audit chains without a node; exit code 1 when they are not intact')
    .argument('<file>', 'exported chains; - reads standard input')
    .option('--jwks <file>', "the node's public keys (/.well-known/jwks.json); without it only hashes are checked")
    .action(async (file: string, options: { jwks?: string }, command: Command) => {
      const { output } = contextOf(command);
      const exported = parseJson(await readText(file, 'FILE'));
      if (exported === undefined) throw invalid(`FILE: expected JSON in ${file}`);
      const keys = await keysOf(options.jwks);
      const isOperations = isObject(exported) && exported.format === 'svc-audit-operations/v1';
      const { verdict, text } = await (isOperations
        ? entriesVerdict(exported, keys, file)
        : sessionVerdict(exported, keys, file));
      await print(output, { value: verdict, text });
      if (verdict.signature === 'unchecked')
        process.stderr.write('svc: only hashes were checked; use --jwks FILE to check the signature\n');
      if (!verdict.valid) throw new CliFailure(EXIT.notFound, 'the audit chain differs from what was recorded');
    });
}

type Keys = Awaited<ReturnType<typeof keysOf>>;

async function sessionVerdict(exported: unknown, keys: Keys, file: string) {
  // Loaded only here, so that other commands do not load cryptography.
  const { verifyAudit } = await import('../../manifests/audit/verify.ts');
  const verdict = await verifyAudit(exported, keys);
  const lines = verdict.faults.map(
    ({ sequence, kind, message }) => `${sequence === null ? 'chain' : `record ${sequence}`}: ${kind}: ${message}`,
  );
  const whose = `${file}: session ${verdict.session_id ?? '?'} of tenant ${verdict.tenant ?? '?'}`;
  const result = verdict.valid ? 'nothing wrong' : counted(verdict.faults.length, 'fault');
  const open = verdict.is_open ? `, ${openText(verdict.signed_at)}` : '';
  const text = [...lines, `${whose}, ${counted(verdict.records, 'record')}, ${result}${open}`].join('\n');
  return { verdict, text };
}

async function entriesVerdict(exported: unknown, keys: Keys, file: string) {
  const { verifyEntries } = await import('../../manifests/audit/verify-entries.ts');
  const verdict = await verifyEntries(exported, keys);
  const lines = verdict.faults.map(({ node, sequence, kind, message }) => {
    const place = [node === null ? 'export' : `node ${node}`, ...(sequence === null ? [] : [`record ${sequence}`])];
    return `${place.join(', ')}: ${kind}: ${message}`;
  });
  const chains = verdict.chains.map(({ node, records, head_at, unsigned, stated_by }) => {
    const behind = unsigned === 0 ? '' : `, ${counted(unsigned, 'record')} behind it`;
    const by = stated_by.length === 0 ? '' : `, stated by ${counted(stated_by.length, 'node')}`;
    return `node ${node}: ${counted(records, 'record')}, ${openText(head_at)}${behind}${by}`;
  });
  const result = verdict.valid ? 'nothing wrong' : counted(verdict.faults.length, 'fault');
  const whole = `${file}: operations of tenant ${verdict.tenant ?? '?'}, ${counted(chains.length, 'chain')}, ${result}`;
  return { verdict, text: [...lines, ...chains, whole].join('\n') };
}

/** Nothing proves that no records came after the signed end. */
const openText = (signedAt: string | null): string =>
  signedAt === null ? 'open chain, no signed head' : `open chain, head of ${signedAt}`;

async function keysOf(path: string | undefined): Promise<{ readonly keys: Record<string, unknown>[] } | null> {
  if (path === undefined) return null;
  const value = parseJson(await readText(path, '--jwks'));
  if (!isObject(value) || !Array.isArray(value.keys)) throw invalid(`--jwks: expected {"keys": [...]} in ${path}`);
  return { keys: listOf(value, 'keys').map((key) => ({ ...key })) };
}

async function write(path: string | undefined, value: unknown, option: string): Promise<void> {
  const text = `${JSON.stringify(value, null, 2)}\n`;
  if (path === undefined) return void process.stdout.write(text);
  await writeFile(path, text).catch((thrown: unknown) => {
    throw unwritable(option, path, thrown);
  });
}
