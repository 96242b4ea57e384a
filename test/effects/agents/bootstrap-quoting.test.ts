import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type GatewayAnswer, gatewayRequestOf } from '../../../usecases/gateway.ts';
import { readShellRequest, shellAnswer, shellProblem } from '../../../usecases/gateway-shell.ts';
import { AGENT, dispatch, EXECUTION, final, NEEDS_SHELLS, privateDirectory } from './bootstrap-places.ts';

/** Texts with a special meaning in shells. */
const SPICE = ["'", '"', '\\', '$', '`', '\n', '\r', '\t', ' ', '$(id)', '`id`', '!', '*', '~', '#', '&', '|'];
const spiced = fc
  .array(
    fc.oneof(
      fc.constantFrom(...SPICE, ';', '<', '>', '(', ')', "'\\''", '\u0001', '\u007f', 'é', '\u2028'),
      fc.string(),
    ),
  )
  .map((parts) => parts.join('').replaceAll('\0', '').toWellFormed());

/** Sources an answer and prints the variables, each value ended by NUL. */
const SHOW = `. "$1"
printf '%s\\0' "$svc_type" "$svc_dispatch_id" "$svc_cwd" "$svc_env_1" "$@"`;

const inShell = (shell: readonly string[], script: string, ...args: readonly string[]): string => {
  const [program = 'sh', ...first] = shell;
  return execFileSync(program, [...first, '-c', script, 'sh', ...args], {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin' },
  });
};

describe('answers that a shell sources', NEEDS_SHELLS, () => {
  for (const shell of [['dash'], ['busybox', 'sh']]) {
    const resolved = shell.map((word, index) => (index === 0 ? `/usr/bin/${word}` : word));

    test(`answers that a shell sources hold any text as it is, and run nothing (${shell.join(' ')})`, async () => {
      await using place = await privateDirectory();
      const file = join(place.path, 'answer');
      const property = fc.property(
        spiced,
        fc.array(spiced, { maxLength: 4 }),
        spiced,
        spiced,
        (command, args, cwd, value) => {
          const answer = dispatch(command, args, { dispatch_id: value, cwd, env_additions: { NAME: value } });
          writeFileSync(file, shellAnswer(answer));
          const expected = ['dispatch', value, cwd, `NAME=${value}`, command, ...args];
          assert.equal(inShell(resolved, SHOW, file), expected.map((word) => `${word}\0`).join(''));
        },
      );
      fc.assert(property, { numRuns: 150 });
    });

    test(`answers that a shell sources hold any content byte for byte (${shell.join(' ')})`, async () => {
      await using place = await privateDirectory();
      const file = join(place.path, 'answer');
      const property = fc.property(spiced, (content) => {
        writeFileSync(file, shellAnswer(final(`${content}\u0000return 0\n`)));
        assert.equal(
          inShell(resolved, '. "$1"; tail -c "$svc_content_bytes" "$1"', file),
          `${content}\u0000return 0\n`,
        );
      });
      fc.assert(property, { numRuns: 60 });
    });

    test(`answers that a shell sources hold any error text (${shell.join(' ')})`, async () => {
      await using place = await privateDirectory();
      const file = join(place.path, 'answer');
      const property = fc.property(spiced, (message) => {
        writeFileSync(file, shellProblem({ error: 'internal', message, retry_secs: 0 }));
        assert.equal(inShell(resolved, '. "$1"; printf "%s|" "$svc_type" "$svc_message"', file), `error|${message}|`);
      });
      fc.assert(property, { numRuns: 60 });
    });
  }

  test('NUL and invalid names of variables are refused before a shell reads them', () => {
    const refused: readonly GatewayAnswer[] = [
      dispatch('a\0b'),
      dispatch('a', ['x\0']),
      dispatch('a', [], { cwd: '/\0' }),
      dispatch('a', [], { env_additions: { A: '\0' } }),
      ...['A B', '1A', 'A;id', '', 'A=B', 'A\n', "'"].map((name) =>
        dispatch('a', [], { env_additions: { [name]: 'x' } }),
      ),
    ];
    for (const answer of refused) assert.throws(() => shellAnswer(answer), { code: 'invalid_argument' });
  });
});

describe('requests that a shell writes', () => {
  test('requests that a shell writes are read back as they were written, whatever texts they contain', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 300 }), spiced, (bytes, stderr) => {
      const head = `dispatch_result\nexecution_id ${EXECUTION}\ndispatch_id d 1\nexit_code -1\nduration_ms 5\ntruncated true`;
      const counts = `stdout_bytes ${bytes.length}\nstderr_bytes ${Buffer.byteLength(stderr)}`;
      const read = readShellRequest(Buffer.concat([Buffer.from(`${head}\n${counts}\n\n`), bytes, Buffer.from(stderr)]));
      const stdout = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
      assert.deepEqual(gatewayRequestOf(read), {
        ...{ type: 'dispatch_result', execution_id: EXECUTION, dispatch_id: 'd 1', exit_code: -1, duration_ms: 5 },
        ...{ truncated: true, stdout, stderr },
      });
    });
    fc.assert(property, { numRuns: 300 });
  });

  test('broken requests of a shell are refused, and the error names the fault', () => {
    const prompt = `execution_id ${EXECUTION}\nagent_id ${AGENT}\niteration_number 1`;
    const rows: readonly (readonly [string, RegExp])[] = [
      ['', /empty line/],
      ['generate', /empty line/],
      [`${'x'.repeat(10_000)}\n\n`, /empty line/],
      ['shout\n\n', /first line/],
      ['constructor\n\n', /first line/],
      [`generate\n${prompt}\n\n`, /prompt_bytes/],
      [`generate\n${prompt}\nprompt_bytes 5\n\nabc`, /prompt: expected 5 bytes/],
      [`generate\n${prompt}\nprompt_bytes 1\n\nabc`, /follow the last part/],
      [`generate\n${prompt}\nprompt_bytes 1e2\n\nabc`, /prompt_bytes/],
      [`generate\n${prompt}\nagent_id twice\nprompt_bytes 0\n\n`, /each once/],
      [`generate\n${prompt}\ncolour red\nprompt_bytes 0\n\n`, /colour/],
      [`generate\n${prompt}\niteration_number2 x\nprompt_bytes 0\n\n`, /NAME VALUE/],
      [`generate\nexecution_id x\nagent_id y\niteration_number one\nprompt_bytes 0\n\n`, /iteration_number/],
    ];
    for (const [text, why] of rows) {
      assert.throws(
        () => gatewayRequestOf(readShellRequest(Buffer.from(text))),
        { code: 'invalid_argument', message: why },
        JSON.stringify(text),
      );
    }
    assert.throws(() => readShellRequest(Buffer.from('generate\nprompt_bytes 1\n\n\xff', 'latin1')), /UTF-8/);
  });

  test('random bytes as a request are always refused', () => {
    const start = fc.constantFrom('', 'generate\n', 'dispatch_result\nstdout_bytes 3\nstderr_bytes 0\n', '{');
    const property = fc.property(start, fc.uint8Array({ maxLength: 200 }), (first, bytes) => {
      try {
        gatewayRequestOf(readShellRequest(Buffer.concat([Buffer.from(first), bytes])));
      } catch (thrown) {
        assert.ok(thrown instanceof Error && 'code' in thrown && thrown.code === 'invalid_argument', String(thrown));
      }
    });
    fc.assert(property, { numRuns: 2_000 });
  });
});
