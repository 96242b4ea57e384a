import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import picomatch from 'picomatch';
import { RE2JS } from 're2js';
import { applyEdits } from '../../tools/files/file-tools.ts';
import { ToolFailure } from '../../tools/tool.ts';
import { type ToolsUnderTest, toolsUnderTest } from './granted-tools.ts';

const letters = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '$', 'é', '😀'), maxLength: 30 });
const edits = fc.array(
  fc.record({ target_content: letters.filter((text) => text !== ''), replacement_content: letters }),
  {
    minLength: 1,
    maxLength: 5,
  },
);
const occurrences = (text: string, target: string): number => {
  let count = 0;
  for (let at = text.indexOf(target); at !== -1; at = text.indexOf(target, at + 1)) count += 1;
  return count;
};

describe('edits', () => {
  test('apply exactly where the text is once, in order, or not at all', () => {
    fc.assert(
      fc.property(letters, edits, (text, all) => {
        let expected: string | null = text;
        for (const { target_content, replacement_content } of all) {
          if (expected === null || occurrences(expected, target_content) !== 1) expected = null;
          else expected = expected.split(target_content).join(replacement_content);
        }
        let got: string | null;
        try {
          got = applyEdits(text, all);
        } catch (thrown) {
          assert.ok(thrown instanceof ToolFailure);
          got = null;
        }
        assert.equal(got, expected);
      }),
      { numRuns: 2_000 },
    );
  });

  test('an edit and its reverse give the original text', () => {
    fc.assert(
      fc.property(letters, letters, letters, (before, after, other) => {
        const edit = { target_content: '<here>', replacement_content: `[${other}]` };
        const back = { target_content: edit.replacement_content, replacement_content: edit.target_content };
        const text = `${before}<here>${after}`;
        assert.equal(applyEdits(text, [edit, back]), text);
      }),
    );
  });
});

const name = fc.constantFrom('a', 'b.ts', '.git', 'src', 'ä', 'x y', 'c.js', '[z]');
const paths = fc.uniqueArray(fc.array(name, { minLength: 1, maxLength: 4 }), {
  maxLength: 12,
  selector: (parts) => parts.join('/'),
});
const pattern = fc
  .array(fc.constantFrom('**', '*', '*.ts', '*.{ts,js}', '?', 'a', 'src', 'b.ts', '[a-c]*', '.*', '!(a)', 'x y'), {
    minLength: 1,
    maxLength: 4,
  })
  .map((parts) => parts.join('/'));

describe('searches of a tree', () => {
  let bench: ToolsUnderTest;
  let root: string;
  before(async () => {
    bench = await toolsUnderTest();
    root = join(await bench.directory(), 'tree');
  });
  after(async () => bench[Symbol.asyncDispose]());

  /** Writes the tree; answers all paths in it, and the text of files. */
  async function plant(files: readonly (readonly [string[], string])[]): Promise<Map<string, string | null>> {
    await rm(root, { recursive: true, force: true });
    await mkdir(root, { recursive: true });
    const known = new Map<string, string | null>();
    for (const [parts, content] of files) {
      const above = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/'));
      if (known.has(parts.join('/')) || above.some((path) => typeof known.get(path) === 'string')) continue;
      await mkdir(join(root, ...parts.slice(0, -1)), { recursive: true });
      await writeFile(join(root, ...parts), content);
      for (const path of above) known.set(path, null);
      known.set(parts.join('/'), content);
    }
    return known;
  }

  test('fs.glob finds what picomatch says of every path', async () => {
    await fc.assert(
      fc.asyncProperty(paths, fc.array(pattern, { minLength: 1, maxLength: 4 }), async (all, patterns) => {
        const known = await plant(all.map((parts) => [parts, ''] as const));
        for (const wanted of patterns) {
          const fits = picomatch(wanted, { dot: true, nonegate: true });
          const expected = [...known.keys()].filter((path) => fits(path)).sort();
          assert.equal(await bench.text('fs.glob', { path: 'tree', pattern: wanted }), expected.join('\n'), wanted);
        }
      }),
      { numRuns: 60 },
    );
  });

  const line = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '1', 'é', '\r', 'B'), maxLength: 6 });
  const content = fc.array(line, { maxLength: 5 }).map((lines) => lines.join('\n'));
  const regexes = [
    'a',
    '^a',
    'b$',
    '^$',
    'a.*1',
    '\\s',
    '[^a]',
    '(?i)b',
    '\\Aa',
    'b\\z',
    '(a|b)+ ',
    '^(?-m:.*)$',
    'é',
    '\\bB\\b',
  ];

  test('fs.grep finds the lines that a filter over all lines finds', async () => {
    await fc.assert(
      fc.asyncProperty(
        paths,
        fc.array(content, { minLength: 1 }),
        fc.constantFrom(...regexes),
        async (all, texts, regex) => {
          const known = await plant(all.map((parts, index) => [parts, texts[index % texts.length] ?? ''] as const));
          const matcher = RE2JS.compile(regex);
          const expected: string[] = [];
          for (const [path, text] of known) {
            if (text === null) continue;
            const lines = text.replaceAll('\r\n', '\n').split('\n');
            if (lines.at(-1) === '') lines.pop();
            for (const [index, one] of lines.entries()) {
              if (matcher.test(one)) expected.push(`${path}:${index + 1}:${one}`);
            }
          }
          const { structured } = await bench.call('fs.grep', { path: 'tree', pattern: regex });
          const matches = structured?.matches;
          assert.ok(Array.isArray(matches));
          const got = matches.map((match) => {
            assert.ok(typeof match === 'object' && match !== null && !Array.isArray(match));
            return `${String(match.path).replace('/workspace/tree/', '')}:${String(match.line)}:${String(match.text)}`;
          });
          assert.deepEqual(got.sort(), expected.sort());
        },
      ),
      { numRuns: 80 },
    );
  });
});
