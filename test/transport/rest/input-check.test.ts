import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { checkInput } from '../../../transport/rest/input-check.ts';
import { EnvelopeBody } from '../../../transport/rest/schemas/seal.ts';
import { ForkBody } from '../../../usecases/operations/schemas/runs.ts';

const Body = z.strictObject({
  input: z.record(z.string(), z.unknown()),
  name: z.string().min(1).max(3).optional(),
  status: z.enum(['open', 'closed']).optional(),
  from: z.iso.datetime().optional(),
  labels: z.record(z.string().regex(/^[a-z]+$/, 'expected letters'), z.string()).optional(),
  code: z
    .string()
    .regex(/^[a-z]+$/)
    .optional(),
  limit: z.number({ error: 'expected a whole number' }).optional(),
});

const ROWS: readonly (readonly [given: unknown, path: string, text: string])[] = [
  [null, '/', 'expected an object'],
  [{}, '/input', 'required: expected an object'],
  [{ input: 'x' }, '/input', 'expected an object'],
  [{ input: {}, name: 5 }, '/name', 'expected text'],
  [{ input: {}, name: '' }, '/name', 'expected at least 1 character'],
  [{ input: {}, name: 'abcd' }, '/name', 'expected at most 3 characters'],
  [{ input: {}, status: 'opn' }, '/status', 'expected one of open, closed'],
  [{ input: {}, from: 'yesterday' }, '/from', 'expected an ISO 8601 time such as 2026-01-31T12:00:00Z'],
  [{ input: {}, labels: { a: 1 } }, '/labels/a', 'expected text'],
  [{ input: {}, labels: { 'a b': 'c' } }, '/labels/a b', 'the name of a member: expected letters'],
  [{ input: {}, code: '1' }, '/code', 'expected text of the form /^[a-z]+$/'],
  [{ input: {}, limit: '1' }, '/limit', 'expected a whole number'],
  [{ input: {}, statuss: 'open' }, '/', 'unknown member "statuss"; did you mean "status"?'],
  [{ input: {}, a: 1, b: 2 }, '/', 'unknown members "a", "b"'],
];

test('errors of a call name types of JSON, with what was expected', () => {
  const check = checkInput({ schema: Body, method: 'POST', url: '/v1/x' });
  for (const [given, path, text] of ROWS) {
    const { error } = z
      .object({ error: z.array(z.object({ instancePath: z.string(), message: z.string() })) })
      .parse(check(given));
    assert.deepEqual(error, [{ instancePath: path, message: text }]);
  }
  assert.deepEqual(check({ input: {} }), { value: { input: {} } });
});

test('the payload of an envelope is base64 text or an object, and the error says so', () => {
  const check = checkInput({ schema: EnvelopeBody, method: 'POST', url: '/v1/seal/invoke' });
  const rest = { protocol: 'seal/v1', security_token: 't', signature: 's', timestamp: 'now' };
  const said = (given: object) => {
    const { error } = z.object({ error: z.array(z.object({ message: z.string() })) }).parse(check(given));
    return error.map(({ message }) => message);
  };
  assert.deepEqual(said({ ...rest, payload: 5 }), ['expected base64 text or an object']);
  assert.deepEqual(said(rest), ['required: expected base64 text or an object']);
});

test('another input of a fork is text or an object, and the error says so', () => {
  const check = checkInput({ schema: ForkBody, method: 'POST', url: '/v1/runs/:id/fork' });
  assert.match(JSON.stringify(check({ input: 5 })), /"expected text or an object"/);
});
