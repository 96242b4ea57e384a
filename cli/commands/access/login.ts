import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { contextOf } from '../../context.ts';
import { invalid } from '../../failure.ts';
import { isObject, textOf, textsOf } from '../../json.ts';
import { NodeClient } from '../../node-client.ts';
import { isForMachines, print } from '../../output.ts';
import { readSecret } from '../../read-input.ts';
import { readContexts, type SavedContexts, writeContexts } from '../../saved-contexts.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;

/** `svc login`, `svc logout` and `svc context …`: saved nodes, which commands call without --url and a token. */
export function login(program: Command): void {
  program
    .command('login')
    .description('save a node with a token or API key as a context, and use it from now on')
    .argument('[context]', 'name of the context', 'default')
    .option(
      '--key <key>',
      'token or API key: - reads standard input, @FILE a file (default: it is asked for on a terminal)',
    )
    .action(async (name: string, options: { key?: string }, command: Command) => {
      if (!NAME.test(name)) throw invalid('context: expected letters, digits, dots, - and _');
      const { client, output } = contextOf(command);
      const { url, tenant } = client.address;
      const key = options.key === undefined ? await askKey() : await readSecret(options.key, '--key');
      const token = key.trim() === '' ? client.address.token : key.trim();
      const me = await new NodeClient({ url, tenant, token, findToken: client.address.findToken }).json(
        'GET',
        '/v1/me',
      );
      const { contexts } = readContexts(process.env);
      writeContexts(process.env, { current: name, contexts: { ...contexts, [name]: { url, token, tenant } } });
      const value = { context: name, url, subject: textOf(me, 'subject'), tenant: textOf(me, 'tenant') };
      await print(output, { value, text: `context ${name}: ${value.subject} in tenant ${value.tenant} at ${url}` });
    });
  program
    .command('logout')
    .description('forget the token of a context')
    .argument('[context]', 'name of the context (default: the current one)')
    .action(async (given: string | undefined, _options: object, command: Command) => {
      const saved = readContexts(process.env);
      const name = known(saved, given ?? saved.current ?? '');
      const { token: _token, ...context } = saved.contexts[name] ?? { url: '' };
      writeContexts(process.env, { ...saved, contexts: { ...saved.contexts, [name]: context } });
      await print(formatOf(command), { value: { context: name }, text: `context ${name} has no token any more` });
    });
  contexts(program);
}

function contexts(program: Command): void {
  const group = program.command('context').description('saved nodes: list, use, remove');
  group
    .command('list')
    .description('list the saved contexts')
    .action(async (_options: object, command: Command) => {
      const saved = readContexts(process.env);
      const items = Object.entries(saved.contexts).map(([name, { url, tenant, token }]) => ({
        current: name === saved.current,
        name,
        url,
        tenant: tenant ?? null,
        has_token: token !== undefined,
      }));
      const rows = items.map((item) => ({ ...item, current: item.current ? '*' : '' }));
      const columns = ['current', 'name', 'url', 'tenant', 'has_token'];
      await print(formatOf(command), { value: items, rows: { items: rows, columns } });
    });
  group
    .command('use')
    .description('use a context from now on')
    .argument('<context>', 'its name')
    .action(async (given: string, _options: object, command: Command) => {
      const saved = readContexts(process.env);
      const current = known(saved, given);
      writeContexts(process.env, { ...saved, current });
      await print(formatOf(command), { value: { context: current }, text: `context ${current} is used from now on` });
    });
  group
    .command('remove')
    .description('remove a context with its token')
    .argument('<context>', 'its name')
    .action(async (given: string, _options: object, command: Command) => {
      const saved = readContexts(process.env);
      const name = known(saved, given);
      const { [name]: _removed, ...rest } = saved.contexts;
      writeContexts(process.env, { current: saved.current === name ? null : saved.current, contexts: rest });
      await print(formatOf(command), { value: { context: name }, text: `removed context ${name}` });
    });
}

function known({ contexts }: SavedContexts, name: string): string {
  if (Object.hasOwn(contexts, name)) return name;
  throw invalid(
    `context: expected one of ${Object.keys(contexts).join(', ') || '(none is saved: svc login)'}, got ${name || 'none'}`,
  );
}

/** For commands that call no node: a missing context must not prevent its own repair. */
const formatOf = (command: Command) => contextOf(command, { ...process.env, SVC_URL: 'http://127.0.0.1' }).output;

/** Asks for the token on a terminal, without echo. Empty when standard input is no terminal. */
async function askKey(): Promise<string> {
  if (!process.stdin.isTTY) return '';
  process.stderr.write('Token or API key (empty: none): ');
  const silent = new Writable({ write: (_piece, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await terminal.question('');
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}

/** `svc whoami`: the caller, and its permissions. */
export function whoami(program: Command): void {
  program
    .command('whoami')
    .description('show who you are on the node, and what you may do')
    .action(async (_options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const me = await client.json('GET', '/v1/me', { repeatable: true });
      const key = isObject(me.key) ? `${textOf(me.key, 'id')} (${textsOf(me.key, 'scopes').join(', ')})` : '-';
      const shown = {
        subject: me.subject,
        kind: me.kind,
        tenant: me.tenant,
        roles: textsOf(me, 'roles').join(', ') || '-',
        tier: me.tier,
        actions: textsOf(me, 'actions').join(', ') || '-',
        'API key': key,
      };
      await print(output, { value: isForMachines(output) ? me : shown });
    });
}
