import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { agentYaml } from '../product/product-node.ts';
import { waitUntil } from '../support/wait-until.ts';
import { HANDS } from './agents.ts';
import type { Escape } from './escape.ts';

const TELL = 'echo "$SVC_ORCHESTRATOR_URL" > url.tmp; mv url.tmp url';

/** The program of an agent says its token in some way; nothing that can be read afterwards may hold it. */
const told = (title: string, script: string): Escape => ({
  ...{ title: `a program that tells its token ${title}`, kind: 'tokens' },
  async attempt({ node, setup }) {
    const directory = await mkdtemp(join(node.directory, 'told-'));
    const program = join(directory, 'agent.sh');
    await writeFile(program, `#!/bin/sh\n${TELL}\nu=$SVC_ORCHESTRATOR_URL\nt=\${u##*/x/}\n${script}\n`);
    await chmod(program, 0o755);
    const runtime = { isolation: 'process' };
    const spec = { ...HANDS, runtime, advanced: { bootstrap_path: program } };
    const agent = await node.deploy(agentYaml('teller', spec));
    const id = await node.run(agent, 'wait');
    const told = join(setup.data, 'volumes', 'svc-system', id, 'url');
    const url = await waitUntil('the program to write its token', () => readFile(told, 'utf8').catch(() => null));
    const token = url.trim().split('/x/')[1] ?? '';
    assert.ok(token.length > 20, 'it had one');
    await setup.ended(id);
    for (const path of ['', '/events?limit=200', '/stream']) {
      const { text } = await node.call('GET', `/v1/executions/${id}${path}`);
      assert.ok(!text.includes(token), `${path}: ${text.slice(0, 300)}`);
    }
    const audit = await node.call('GET', `/v1/seal/sessions/${id}/audit`);
    assert.ok(!audit.text.includes(token) && !node.process.log.includes(token));
  },
});

export const TOKENS: readonly Escape[] = [
  told('on its output', 'echo "token $t"'),
  told('as a whole URL', 'echo "$u"'),
  told('on its errors', 'echo "$t" >&2'),
  told('with its environment', 'env'),
  told('with the environment of its process', 'cat /proc/self/environ'),
  told('in two pieces', `h=$(printf %s "$t" | head -c 20); printf %s "$h"; sleep 0.2; printf '%s\\n' "\${t#"$h"}"`),
  told('and fails', 'echo "$t"; echo "$t" >&2; exit 3'),
  told('without a line break, then floods', 'printf %s "$t"; head -c 3000000 /dev/zero | tr "\\0" x'),
];
