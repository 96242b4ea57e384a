import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ERRORS, isErrorCode, SvcError } from '../../../runtime/errors.ts';
import { PLAIN_STATUSES } from '../../../transport/rest/problem.ts';
import { restServer, UNKNOWN } from './rest-server.ts';

const codes = Object.keys(ERRORS).filter(isErrorCode);
const SAID = 'what the part behind said';

describe('the table of errors over REST', () => {
  for (const code of codes) {
    const { http, kind, message } = ERRORS[code];
    it(`${code} is ${http}, with the body its route is specified to have`, async () => {
      await using at = await restServer();
      const details = [{ path: 'spec.x', line: 3, message: 'is odd' }];
      at.executions.failure = new SvcError(code, SAID, { details, cause: new Error('secret cause') });
      const { status, body, headers, text } = await at.call('GET', `/v1/executions/${UNKNOWN}`);
      assert.equal(status, http);
      const said = kind === 'bug' ? message : SAID;
      const shown = kind === 'bug' ? {} : { details };
      const plain = code === 'not_found' ? 'execution not found' : said;
      const expected = PLAIN_STATUSES.includes(http)
        ? { error: plain, ...shown }
        : { error: code, message: said, ...shown };
      assert.deepEqual(body, expected);
      assert.equal(headers.get('retry-after'), http === 429 || http === 503 ? '1' : null);
      assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
      assert.doesNotMatch(text, /secret cause/);
    });
  }

  it('an unexpected error is 500 without details', async () => {
    await using at = await restServer();
    for (const thrown of [
      new Error('secret'),
      'secret',
      { statusCode: 418, message: 'secret' },
      Object.assign(new Error('x'), { statusCode: 404 }),
    ]) {
      at.executions.failure = thrown;
      const { status, body } = await at.call('GET', `/v1/executions/${UNKNOWN}`);
      assert.deepEqual(
        [status, body],
        [500, { error: 'An internal error occurred. The log of the node has the cause.' }],
      );
    }
  });
});
