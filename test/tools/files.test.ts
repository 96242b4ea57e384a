import assert from 'node:assert/strict';
import { chmod, link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { FILE_ERRORS } from './file-errors.ts';
import { type ToolsUnderTest, toolsUnderTest } from './granted-tools.ts';

let bench: ToolsUnderTest;
let root: string;
before(async () => {
  bench = await toolsUnderTest();
  root = await bench.directory();
});
after(async () => bench[Symbol.asyncDispose]());

const errorOf = async (...args: Parameters<ToolsUnderTest['call']>) => {
  const { error, is_error, content } = await bench.call(...args);
  assert.ok(is_error && error !== undefined, JSON.stringify(content).slice(0, 200));
  assert.ok(String(content[0]?.text).startsWith(`${error.code}: `));
  return `${error.class} ${error.code}`;
};
const put = async (name: string, content: string | Uint8Array): Promise<void> => {
  await mkdir(join(root, name, '..'), { recursive: true });
  await writeFile(join(root, name), content);
};

describe('results are those of the specification', () => {
  test('fs.write and fs.read: the contents as a string, created or replaced', async () => {
    assert.match(
      await bench.text('fs.write', { path: 'rw/deep/a.txt', content: 'eins\n' }),
      /\/workspace\/rw\/deep\/a\.txt/,
    );
    assert.match(await bench.text('fs.write', { path: '/workspace/rw/deep/a.txt', content: 'zwölf\n' }), /^Replaced/);
    assert.equal(await bench.text('fs.read', { path: 'rw/deep/a.txt' }), 'zwölf\n');
    await put('rw/bom.txt', '\ufefftext');
    assert.equal(await bench.text('fs.read', { path: 'rw/bom.txt' }), '\ufefftext');
    await put('rw/empty', '');
    assert.equal(await bench.text('fs.read', { path: 'rw/empty' }), '');
  });

  test('fs.list: names one a line, directories with a slash; / and nothing are the workspace', async () => {
    await put('list/b.txt', '');
    await mkdir(join(root, 'list/a'));
    await symlink('a', join(root, 'list/c'));
    assert.equal(await bench.text('fs.list', { path: 'list' }), 'a/\nb.txt\nc');
    assert.equal(await bench.text('fs.list', { path: 'list/a' }), '');
    assert.equal(await bench.text('fs.list', {}), await bench.text('fs.list', { path: '/workspace' }));
    assert.equal(await bench.text('fs.list', { path: '/' }), await bench.text('fs.list', { path: '.' }));
  });

  test('fs.create_dir: parents too, and one that is there is fine', async () => {
    for (const _again of [1, 2]) await bench.text('fs.create_dir', { path: 'made/by/agent' });
    assert.ok((await stat(join(root, 'made/by/agent'))).isDirectory());
    await put('made/file', '');
    assert.equal(await errorOf('fs.create_dir', { path: 'made/file' }), 'recoverable ALREADY_EXISTS');
    assert.equal(await errorOf('fs.create_dir', { path: 'made/file/below' }), 'recoverable ALREADY_EXISTS');
  });

  test('fs.delete: a file, an empty directory, and all of one only with recursive', async () => {
    await put('del/file', '');
    await put('del/full/file', '');
    await bench.text('fs.delete', { path: 'del/file' });
    assert.equal(await errorOf('fs.delete', { path: 'del/full' }), 'recoverable DirectoryNotEmpty');
    await bench.text('fs.delete', { path: 'del/full', recursive: true });
    assert.deepEqual(await readdir(join(root, 'del')), []);
    assert.equal(await errorOf('fs.delete', { path: '/workspace', recursive: true }), 'recoverable PERMISSION_DENIED');
  });

  test('files that tell git which programs to run are not written, over links neither', async () => {
    await put('git/.git/config', '[core]\n');
    await put('git/.git/HEAD', 'ref: refs/heads/main\n');
    await symlink('.git', join(root, 'git/link'));
    const paths = [
      '.git/config',
      '.git/hooks/pre-commit',
      '.GIT/config',
      '.git/modules/a/config',
      '.git',
      'link/config',
    ];
    for (const path of paths) {
      const { error } = await bench.call('fs.write', { path: `git/${path}`, content: 'x' });
      assert.deepEqual([error?.code, /git/i.test(error?.message ?? '')], ['PERMISSION_DENIED', true], path);
    }
    const edit = { path: 'git/.git/config', target_content: 'core', replacement_content: 'x' };
    assert.equal(await errorOf('fs.edit', edit), 'recoverable PERMISSION_DENIED');
    assert.equal(await readFile(join(root, 'git/.git/config'), 'utf8'), '[core]\n');
    await bench.text('fs.write', { path: 'git/.git/HEAD', content: 'ref: refs/heads/other\n' });
    await bench.text('fs.write', { path: 'git/config', content: 'x' });
  });

  test('fs.edit: exactly one occurrence; mode and other names of the file stay', async () => {
    await put('edit/run.sh', 'one two two\n');
    await chmod(join(root, 'edit/run.sh'), 0o755);
    const edit = (target_content: string) => ({ path: 'edit/run.sh', target_content, replacement_content: '$& 1' });
    assert.match(await bench.text('fs.edit', edit('one')), /\/workspace\/edit\/run\.sh/);
    assert.equal(await readFile(join(root, 'edit/run.sh'), 'utf8'), '$& 1 two two\n');
    assert.equal((await stat(join(root, 'edit/run.sh'))).mode & 0o777, 0o755);
    assert.equal(await errorOf('fs.edit', edit('two')), 'recoverable TextNotUnique');
    assert.equal(await errorOf('fs.edit', edit('three')), 'recoverable TextNotFound');
    await put('edit/overlap', 'aaa');
    const overlapping = { path: 'edit/overlap', target_content: 'aa', replacement_content: 'b' };
    assert.equal(await errorOf('fs.edit', overlapping), 'recoverable TextNotUnique');
  });

  test('fs.multi_edit: in order, and a failing edit leaves the file as it was', async () => {
    await put('edit/multi', 'a b c');
    const edits = (...pairs: [string, string][]) => ({
      path: 'edit/multi',
      edits: pairs.map(([target_content, replacement_content]) => ({ target_content, replacement_content })),
    });
    assert.match(await bench.text('fs.multi_edit', edits(['a', 'x'], ['x b', 'y'])), /2 edits/);
    assert.equal(await readFile(join(root, 'edit/multi'), 'utf8'), 'y c');
    const { error } = await bench.call('fs.multi_edit', edits(['y', 'z'], ['missing', '']));
    assert.match(error?.message ?? '', /edits\[1\]/);
    assert.equal(await readFile(join(root, 'edit/multi'), 'utf8'), 'y c');
  });

  test('fs.grep: path:line:text and the same as objects', async () => {
    await put('grep/a.txt', 'no\r\nyes 1\r\n');
    await put('grep/sub/b.txt', 'yes 2');
    await put('grep/bin', 'yes\0');
    const { content, structured } = await bench.call('fs.grep', { pattern: '^yes \\d$', path: 'grep' });
    assert.equal(content[0]?.text, '/workspace/grep/a.txt:2:yes 1\n/workspace/grep/sub/b.txt:1:yes 2');
    assert.deepEqual(structured, {
      matches: [
        { path: '/workspace/grep/a.txt', line: 2, text: 'yes 1' },
        { path: '/workspace/grep/sub/b.txt', line: 1, text: 'yes 2' },
      ],
      truncated: false,
    });
    assert.equal(await bench.text('fs.grep', { pattern: 'yes', path: 'grep/a.txt' }), '/workspace/grep/a.txt:2:yes 1');
    assert.equal(await bench.text('fs.grep', { pattern: 'nowhere', path: '/' }), '');
    for (const pattern of ['(', '(?=a)', '(a)\\1']) {
      assert.equal(await errorOf('fs.grep', { pattern, path: 'grep' }), 'recoverable InvalidRegex');
    }
  });

  test('fs.glob: paths below the directory, sorted; none is no error', async () => {
    for (const name of ['b.ts', 'a.ts', 'sub/c.ts', 'sub/.hidden.ts', 'd.js']) await put(`glob/${name}`, '');
    const glob = (pattern: string) => bench.text('fs.glob', { pattern, path: 'glob' });
    assert.equal(await glob('**/*.ts'), 'a.ts\nb.ts\nsub/.hidden.ts\nsub/c.ts');
    assert.equal(await glob('*'), 'a.ts\nb.ts\nd.js\nsub');
    assert.equal(await glob('./*.js'), 'd.js');
    assert.equal(await glob('none/*'), '');
    for (const pattern of ['/etc/*', '../*', 'a/../../*']) {
      assert.equal(await errorOf('fs.glob', { pattern, path: 'glob' }), 'recoverable InvalidGlob');
    }
  });
});

describe('errors say what is wrong', () => {
  beforeEach(() => put('err/file', 'text'));
  for (const [tool, given, expected] of FILE_ERRORS) {
    test(`${tool} ${JSON.stringify(given)}: ${expected}`, async () => {
      assert.equal(await errorOf(tool, given), expected);
    });
  }

  test('a binary file is named with its size, and is never edited', async () => {
    await put('err/bin', Buffer.from([1, 0, 2]));
    await put('err/latin1', Buffer.from([0x61, 0xff]));
    for (const name of ['bin', 'latin1']) {
      const { error } = await bench.call('fs.read', { path: `err/${name}` });
      assert.equal(error?.code, 'BinaryFile');
      assert.match(error?.message ?? '', new RegExp(`/workspace/err/${name} .*${name === 'bin' ? 3 : 2} bytes`));
    }
    const edit = { path: 'err/latin1', target_content: 'a', replacement_content: 'b' };
    assert.equal(await errorOf('fs.edit', edit), 'recoverable BinaryFile');
  });

  test('a full volume says so and keeps the old file', async () => {
    const big = 'x'.repeat(9 * 1024 * 1024);
    assert.equal(await errorOf('fs.write', { path: 'err/file', content: big }), 'recoverable QuotaExceeded');
    assert.equal(await bench.text('fs.read', { path: 'err/file' }), 'text');
  });

  test('no tool follows a link out of the workspace', async () => {
    await symlink('/etc', join(root, 'err/etc'));
    await symlink('../../..', join(root, 'err/up'));
    for (const at of ['err/etc', 'err/up']) {
      for (const [tool, more] of [
        ['fs.read', {}],
        ['fs.write', { content: '' }],
        ['fs.delete', {}],
      ] as const) {
        assert.equal(await errorOf(tool, { path: `${at}/hostname`, ...more }), 'policy PathOutsideBoundary');
      }
      assert.equal(await errorOf('fs.list', { path: at }), 'policy PathOutsideBoundary');
      assert.equal(await errorOf('fs.grep', { path: at, pattern: '.' }), 'policy PathOutsideBoundary');
    }
    assert.doesNotMatch(await bench.text('fs.glob', { path: 'err', pattern: '**/*' }), /etc\//);
    assert.equal(await bench.text('fs.grep', { path: 'err', pattern: 'root:' }), '');
  });
});

describe('mounts', () => {
  const subject = async (readOnly = false) => {
    const id = await bench.volumes.volume();
    const mounts = [{ volume_id: id, mount_path: '/workspace/data/in', read_only: readOnly, create: false }];
    return { id, more: { subject: { mounts } } };
  };

  test('the longest mount has the file, and listings and searches show it', async () => {
    const { id, more } = await subject();
    await bench.text('fs.write', { path: 'data/in/x.txt', content: 'needle' }, more);
    assert.equal(String(await bench.volumes.volumes.files.read('acme', id, 'x.txt')), 'needle');
    assert.equal(await bench.text('fs.list', { path: 'data' }, more), 'in/');
    assert.match(await bench.text('fs.glob', { path: '/', pattern: 'data/**' }, more), /^data\/in\ndata\/in\/x\.txt$/);
    assert.equal(
      await bench.text('fs.grep', { path: '/', pattern: 'needle' }, more),
      '/workspace/data/in/x.txt:1:needle',
    );
    assert.equal(await errorOf('fs.delete', { path: 'data/in' }, more), 'recoverable PERMISSION_DENIED');
  });

  test('a read-only one is read and never written', async () => {
    const { id, more } = await subject(true);
    await bench.volumes.volumes.files.write('acme', id, 'x', Buffer.from('a'));
    assert.equal(await bench.text('fs.read', { path: 'data/in/x' }, more), 'a');
    const edit = { path: 'data/in/x', target_content: 'a', replacement_content: 'b' };
    for (const [tool, given] of [
      ['fs.write', { path: 'data/in/x', content: '' }],
      ['fs.edit', edit],
      ['fs.delete', { path: 'data/in/x' }],
      ['fs.create_dir', { path: 'data/in/d' }],
    ] as const) {
      assert.equal(await errorOf(tool, given, more), 'policy PathOutsideBoundary');
    }
  });

  test('filesystem rules hold for the results of a search', async () => {
    await put('rules/open/a', 'needle');
    await put('rules/closed/b', 'needle');
    const filesystem = {
      read: ['/workspace/rules', '/workspace/rules/open/**'],
      write: ['/workspace/rules/open/**'],
      read_only: false,
    };
    const more = { scope: { filesystem } };
    assert.equal(
      await bench.text('fs.grep', { path: 'rules', pattern: 'needle' }, more),
      '/workspace/rules/open/a:1:needle',
    );
    assert.equal(await bench.text('fs.glob', { path: 'rules', pattern: '**/*' }, more), 'open\nopen/a');
    assert.equal(await errorOf('fs.read', { path: 'rules/closed/b' }, more), 'policy PathOutsideBoundary');
    assert.equal(await errorOf('fs.write', { path: 'rules/x', content: '' }, more), 'policy PathOutsideBoundary');
  });

  test('without an execution there are no files', async () => {
    const more = { subject: { execution_id: null } };
    assert.equal(await errorOf('fs.read', { path: 'a' }, more), 'policy PathOutsideBoundary');
  });
});

test('two edits at once are both applied', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `<${index}>`);
  await put('both/file', names.join(''));
  await link(join(root, 'both/file'), join(root, 'both/other-name'));
  const outcomes = await Promise.all(
    names.map((name) =>
      bench.call('fs.edit', { path: 'both/file', target_content: name, replacement_content: name.replace('<', '[') }),
    ),
  );
  const now = await readFile(join(root, 'both/file'), 'utf8');
  for (const [index, { error }] of outcomes.entries()) {
    assert.equal(now.includes(`[${index}>`), error === undefined, `${index} ${error?.code}`);
    if (error !== undefined) assert.equal(error.code, 'FileChanged');
  }
  assert.equal(await readFile(join(root, 'both/other-name'), 'utf8'), names.join(''));
});
