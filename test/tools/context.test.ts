import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CONTEXT_LIMITS, ContextRequest, ContextTexts } from '../../manifests/agent/context.ts';
import { SvcError, unreachableStore } from '../../runtime/errors.ts';
import { createSecurityContexts } from '../../security/policy/contexts.ts';
import { filesystemBreach } from '../../security/policy/paths.ts';
import { domainProblem } from '../../security/policy/policy.ts';
import { createContextEffect } from '../../tools/context/context-effect.ts';
import type { FilePorts } from '../../tools/files/places.ts';
import { type PageServer, serve, webOver } from '../effects/web/page-server.ts';
import { TENANT, type ToolsUnderTest, toolContext, toolsUnderTest } from './granted-tools.ts';

const CLOSED = {
  name: 'closed',
  description: 'no web at all',
  deny_list: [],
  capabilities: [{ tool_pattern: 'fs.*', path_allowlist: ['/workspace/docs/**'] }],
};

const web = webOver();
let tools: ToolsUnderTest;
let root: string;
let server: PageServer;
before(async () => {
  tools = await toolsUnderTest();
  root = await tools.directory();
  server = await serve(({ url = '' }, response) => {
    const status = Number(/^\/(\d{3})$/.exec(url)?.[1] ?? 200);
    if (url === '/away') {
      response.writeHead(302, { location: `http://127.0.0.3:${server.port}/` }).end();
      return;
    }
    response.writeHead(status, { 'content-type': 'text/html' });
    response.end(
      url === '/huge' ? `<p>${'x '.repeat(CONTEXT_LIMITS.bytes)}</p>` : '<h1>Terms</h1><p>pay by Friday</p>',
    );
  });
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await web.close();
  await tools[Symbol.asyncDispose]();
});

const put = async (name: string, content: string | Uint8Array): Promise<void> => {
  await mkdir(dirname(join(root, name)), { recursive: true });
  await writeFile(join(root, name), content);
};

interface More {
  readonly grant?: object;
  readonly subject?: object;
  readonly files?: Partial<FilePorts>;
}

async function texts(entries: readonly object[], { grant = {}, subject = {}, files = {} }: More = {}) {
  const { volumes } = tools.volumes;
  const effect = createContextEffect({
    files: {
      files: volumes.files,
      volumes,
      mayTouch: (scope, path, access) =>
        filesystemBreach([{ field: 'path', path, absolute: path, access }], scope) === null,
      ...files,
    },
    web: { web, domainProblem },
    contexts: createSecurityContexts([CLOSED]),
    policy: tools.policy,
  });
  const request = ContextRequest.parse({
    entries: entries.map((entry, at) => ({ index: at + 1, entry })),
    grant: {
      manifest: null,
      network: { mode: 'deny', allowlist: ['127.0.0.2'], denylist: [] },
      filesystem: { read: [], write: [], read_only: false },
      ...grant,
    },
    subject: {
      execution_id: tools.execution,
      agent_id: 'agent',
      session_id: tools.execution,
      mounts: [],
      isolation: 'process',
      principal: { kind: 'operator', subject: 'ada', roles: [], tier: 'pro' },
      ...subject,
    },
  });
  return ContextTexts.parse(await effect.run(request, toolContext(tools.execution))).texts;
}

const file = (path: string) => ({ type: 'file', path });
const directory = (path: string) => ({ type: 'directory', path });
const page = (path: string, host = '127.0.0.2') => ({ type: 'url', url: `http://${host}:${server.port}${path}` });

async function failure(entry: object, more?: More): Promise<string> {
  const thrown: unknown = await texts([entry], more).then(
    (read) => assert.fail(`it was read: ${JSON.stringify(read).slice(0, 200)}`),
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof SvcError, String(thrown));
  return `${thrown.code} ${thrown.message}`;
}

describe('what an agent names in spec.context', () => {
  test('a file, by its path below the workspace or from the root', async () => {
    await put('style.md', 'no adverbs\n');
    assert.deepEqual(await texts([file('style.md'), file('/workspace/./style.md')]), ['no adverbs\n', 'no adverbs\n']);
  });

  test('a directory: its text files in the order of their names, each below its path; links are skipped', async () => {
    await put('docs/b.md', 'B');
    await put('docs/a/z.md', 'Z');
    await put('docs/a.txt', 'A');
    await put('docs/logo.png', Buffer.from([0, 1, 2]));
    await symlink('b.md', join(root, 'docs/link.md'));
    const whole = [
      '### /workspace/docs/a/z.md\nZ',
      '### /workspace/docs/a.txt\nA',
      '### /workspace/docs/b.md\nB',
      '### /workspace/docs/logo.png\n[not text]',
    ].join('\n\n');
    assert.deepEqual(await texts([directory('docs'), directory('docs/')]), [whole, whole]);
    await mkdir(join(root, 'empty'));
    assert.deepEqual(await texts([directory('empty')]), ['[no files]']);
    const hidden = { filesystem: { read: ['/workspace/docs', '/workspace/docs/*'], write: [], read_only: false } };
    assert.doesNotMatch((await texts([directory('docs')], { grant: hidden }))[0] ?? '', /z\.md/);
  });

  test('a volume that is mounted below a directory is part of it', async () => {
    const volume_id = '11111111-1111-4111-8111-111111111111';
    const { directory: at } = await tools.volumes.volumes.open(TENANT, volume_id, { create: true });
    await writeFile(join(at, 'm.md'), 'mounted');
    const mounts = [{ volume_id, mount_path: '/workspace/docs/volume', read_only: true, create: false }];
    const [text = ''] = await texts([directory('docs')], { subject: { mounts } });
    assert.match(text, /### \/workspace\/docs\/volume\/m\.md\nmounted$/);
  });

  test('a page, as web.fetch shows it', async () => {
    const [text = ''] = await texts([page('/terms')]);
    assert.match(text, /pay by Friday/);
    assert.doesNotMatch(text, /</);
  });
});

describe('what cannot be read is named with its code', () => {
  test('a missing file, a directory that is none, a file that is one, a file that is not text', async () => {
    await put('bin', Buffer.from([0, 1]));
    assert.equal(await failure(file('none.md')), 'not_found spec.context[1] (file): /workspace/none.md does not exist');
    assert.match(
      await failure(directory('none')),
      /^not_found spec\.context\[1\] \(directory\): \/workspace\/none does/,
    );
    assert.match(await failure(directory('style.md')), /^failed_precondition .*style\.md: .*is not a directory/);
    assert.match(await failure(file('docs')), /^failed_precondition spec\.context\[1\] \(file\): \/workspace\/docs/);
    assert.match(await failure(file('bin')), /^failed_precondition .*\/workspace\/bin is not text/);
  });

  test('paths that leave the workspace and what the rules of the agent or its security context forbid', async () => {
    assert.match(await failure(file('../x')), /^forbidden spec\.context\[1\] \(file\): PathTraversalAttempt/);
    assert.match(await failure(file('/etc/passwd')), /^forbidden spec\.context\[1\] \(file\): PathOutsideBoundary/);
    await symlink('/etc/passwd', join(root, 'out'));
    assert.match(await failure(file('out')), /^forbidden .*PathOutsideBoundary.* leads out of its volume\.$/);
    const filesystem = { read: ['/workspace/out/**'], write: [], read_only: false };
    for (const entry of [file('style.md'), directory('docs')])
      assert.match(
        await failure(entry, { grant: { filesystem } }),
        /^forbidden spec\.context\[1\].*PathOutsideBoundary/,
      );
    const grant = { security_context: 'closed' };
    assert.deepEqual(await texts([file('docs/b.md')], { grant }), ['B']);
    assert.match(await failure(file('style.md'), { grant }), /^forbidden .*PathOutsideBoundary/);
    assert.match(await failure(page('/terms'), { grant }), /^forbidden spec\.context\[1\] \(url\): ToolNotAllowed/);
  });

  test('a host that the manifest does not allow, an address that is not public, a redirect to one', async () => {
    const asked = server.asked.length;
    assert.match(
      await failure(page('/terms', '127.0.0.3')),
      /^forbidden spec\.context\[1\] \(url\): DomainNotAllowed: .*127\.0\.0\.3 is not in the manifest's network allowlist/,
    );
    const network = { mode: 'allow', allowlist: [], denylist: [] };
    assert.match(
      await failure(page('/terms', '127.0.0.3'), { grant: { network } }),
      /^forbidden spec\.context\[1\] \(url\): 127\.0\.0\.3 is not a public address/,
    );
    assert.equal(server.asked.length, asked);
    assert.match(await failure(page('/away')), /^forbidden spec\.context\[1\] \(url\): .*127\.0\.0\.3/);
  });

  test('the status of a page gives the code: 404 is not_found, 403 forbidden, 503 and 429 may be tried again', async () => {
    assert.equal(
      await failure(page('/404')),
      'not_found spec.context[1] (url): 127.0.0.2 answered with HTTP status 404',
    );
    assert.match(await failure(page('/403')), /^forbidden /);
    assert.match(await failure(page('/400')), /^failed_precondition /);
    for (const path of ['/503', '/429']) assert.match(await failure(page(path)), /^unavailable /);
  });

  test('too many files, too many bytes, directories too deep, a page too large', async () => {
    await put('many/0', '');
    for (let at = 1; at <= CONTEXT_LIMITS.files; at += 1) await writeFile(join(root, `many/${at}`), '');
    assert.match(await failure(directory('many')), /^payload_too_large .*more than 200 files: name a lower directory/);
    await put('deep/1/2/3/4/5/6/7/8/9/x', '');
    assert.match(await failure(directory('deep')), /^payload_too_large .*more than 8 levels deep/);
    await put('large/a', 'x'.repeat(CONTEXT_LIMITS.bytes));
    assert.match(await failure(directory('large')), /^payload_too_large/);
    const half = 'x'.repeat(CONTEXT_LIMITS.bytes / 2 + 1);
    await put('half', half);
    assert.deepEqual(await texts([file('half')]), [half]);
    await assert.rejects(
      texts([file('half'), file('half')]),
      /^SvcError: spec\.context\[2\] \(file\): .* more may be read/,
    );
    assert.match(
      await failure(page('/huge')),
      /^payload_too_large spec\.context\[1\] \(url\): the page of 127\.0\.0\.2/,
    );
  });

  test('a store of the node that is away passes through, so that it is waited for', async () => {
    const away = new SvcError('unavailable', 'the documents do not answer', { store: 'documents' });
    const volumes = { open: () => Promise.reject(away) };
    const thrown: unknown = await texts([file('style.md')], { files: { volumes } }).catch((error: unknown) => error);
    assert.equal(unreachableStore(thrown), 'documents');
  });
});
