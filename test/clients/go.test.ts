import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { ProductNode } from '../product/product-node.ts';
import { assertFollowedRun } from './followed-run.ts';

const run = promisify(execFile);

const EXAMPLE = resolve('examples/clients/go');
/** `.ci/run` builds it. */
const GENERATOR = resolve('.cache/go-client/oapi-codegen');
const hasGo = spawnSync('go', ['version']).status === 0;

const WITHOUT =
  'THE GO CLIENT IS NOT TESTED: there is no Go or no generator here. GOBIN="$PWD/.cache/go-client" go install ' +
  'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 && (cd examples/clients/go && go mod download)';

const isMissing = !hasGo || !existsSync(GENERATOR);
if (isMissing) console.warn(WITHOUT);

describe('a Go client of the API description', { skip: isMissing ? WITHOUT : false }, () => {
  test('is generated as it is served, compiles, and deploys, runs and follows a workflow', async () => {
    await using node = await ProductNode.start();
    const directory = await mkdtemp(join(tmpdir(), 'svc-go-'));
    try {
      await cp(EXAMPLE, directory, { recursive: true });
      await mkdir(join(directory, 'svcclient'), { recursive: true });
      const description = join(directory, 'openapi.json');
      await writeFile(description, (await node.call('GET', '/v1/openapi.json')).text);
      const file = join(directory, 'svcclient', 'client.gen.go');
      await run(GENERATOR, ['-generate', 'types,client', '-package', 'svcclient', '-o', file, description]);
      const program = join(directory, 'run');
      await run('go', ['build', '-o', program, '.'], { cwd: directory });
      const args = [resolve('examples/workflows/data-job/workflow.yaml'), 'data-job'];
      const { stdout } = await run(program, args, { env: { ...process.env, SVC_URL: node.url } });
      assertFollowedRun(stdout);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
