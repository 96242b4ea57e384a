import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT, invalid } from '../failure.ts';
import { isObject, listOf, parseJson } from '../json.ts';
import { print } from '../output.ts';
import { readText } from '../read-input.ts';

/** `svc audit export SESSION [-o FILE]`: the chain of a session with its signed head. */
export function auditExport(audit: Command): void {
  audit
    .command('export')
    .description('get the audit chain of a session of tool calls, with its signed head')
    .argument('<session>', 'id of the session')
    .option('-o, --out <file>', 'where it goes; default: standard output')
    .option('--jwks <file>', 'also keep the public keys that it is verified by')
    .action(async (session: string, options: { out?: string; jwks?: string }, command: Command) => {
      const { client } = contextOf(command);
      const path = `/v1/seal/sessions/${encodeURIComponent(session)}/audit`;
      const answer = await client.json('GET', path, { repeatable: true });
      await write(options.out, answer, '--out');
      if (options.jwks === undefined) return;
      await write(options.jwks, await client.json('GET', '/.well-known/jwks.json', { repeatable: true }), '--jwks');
    });
}

/** `svc audit verify FILE [--jwks FILE]`: offline; exit code 1 when anything is wrong. */
export function auditVerify(audit: Command): void {
  audit
    .command('verify')
    .description('check an exported audit chain, without a node: exit code 1 when anything is wrong with it')
    .argument('<file>', 'what export wrote; - for standard input')
    .option('--jwks <file>', "the node's public keys (/.well-known/jwks.json); without it only hashes are checked")
    .action(async (file: string, options: { jwks?: string }, command: Command) => {
      const { output } = contextOf(command);
      const exported = parseJson(await readText(file, 'FILE'));
      if (exported === undefined) throw invalid(`FILE: ${file} is no JSON`);
      // Loaded when it is needed: no other command waits for cryptography.
      const { verifyAudit } = await import('../../manifests/audit/verify.ts');
      const verdict = await verifyAudit(exported, await keysOf(options.jwks));
      const lines = verdict.faults.map(
        ({ sequence, kind, message }) => `${sequence === null ? 'chain' : `record ${sequence}`}: ${kind}: ${message}`,
      );
      const whose = `${file}: session ${verdict.session_id ?? '?'} of tenant ${verdict.tenant ?? '?'}`;
      const result = verdict.valid ? 'nothing wrong' : counted(verdict.faults.length, 'fault');
      const text = [...lines, `${whose}, ${counted(verdict.records, 'record')}, ${result}`].join('\n');
      await print(output, { value: verdict, text });
      if (verdict.signature === 'unchecked')
        process.stderr.write('svc: only hashes were checked; --jwks FILE checks who signed the chain\n');
      if (!verdict.valid) throw new CliFailure(EXIT.notFound, 'the audit chain is not what was recorded');
    });
}

interface KeySet {
  readonly keys: Record<string, unknown>[];
}

async function keysOf(path: string | undefined): Promise<KeySet | null> {
  if (path === undefined) return null;
  const value = parseJson(await readText(path, '--jwks'));
  if (!isObject(value) || !Array.isArray(value.keys)) throw invalid(`--jwks: expected {"keys": [...]} in ${path}`);
  return { keys: listOf(value, 'keys').map((key) => ({ ...key })) };
}

async function write(path: string | undefined, value: unknown, option: string): Promise<void> {
  const text = `${JSON.stringify(value, null, 2)}\n`;
  if (path === undefined) {
    process.stdout.write(text);
    return;
  }
  try {
    await writeFile(path, text);
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unwritable';
    throw invalid(`${option}: the file ${path} cannot be written (${code})`);
  }
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
