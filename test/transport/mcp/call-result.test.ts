import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DENIAL_REASONS } from '../../../manifests/tool/decision.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { RpcError } from '../../../transport/mcp/json-rpc.ts';
import { loadSdk } from '../../../transport/mcp/sdk.ts';
import { callResult, errorResult } from '../../../transport/mcp/tool-call.ts';

const sdk = await loadSdk();
const rpcError = (code: number) => (error: unknown) => error instanceof RpcError && error.code === code;

describe('what a session answers, as MCP says it', () => {
  for (const reason of DENIAL_REASONS) {
    test(`${reason}`, () => {
      const answer = { kind: 'denied', reason, message: 'because', retryAfterMs: 1_500 } as const;
      assert.throws(() => callResult(sdk, answer, false, 'a.b'), rpcError(-32_602));
      if (reason === 'InvalidArguments') {
        assert.throws(() => callResult(sdk, answer, true, 'a.b'), rpcError(-32_602));
        return;
      }
      assert.deepEqual(callResult(sdk, answer, true, 'a.b'), {
        content: [{ type: 'text', text: `${reason}: because` }],
        structuredContent: { error: { reason, message: 'because', retry_after_ms: 1_500 } },
        isError: true,
      });
    });
  }

  test('a session that is over is an error the model reads; a repeated id is an invalid request', () => {
    const over = callResult(sdk, { kind: 'inactive', message: 'it is closed' }, true, 'a.b');
    assert.equal(over.isError, true);
    const answer = { kind: 'invalid_request', message: 'the same id' } as const;
    assert.throws(() => callResult(sdk, answer, true, 'a.b'), rpcError(-32_600));
  });

  test('content of a kind that MCP does not know is passed on as text', () => {
    const odd = { type: 'hologram', data: [1] };
    const outcome = { content: [{ type: 'text', text: 'a' }, odd], is_error: false, duration_ms: 1 };
    const { content } = callResult(sdk, { kind: 'outcome', outcome, replayed: false }, true, 'a.b');
    assert.deepEqual(content, [
      { type: 'text', text: 'a' },
      { type: 'text', text: JSON.stringify(odd) },
    ]);
  });

  test('a limit that was reached before the session is reported as tools report it', () => {
    const { structuredContent, isError } = errorResult(new SvcError('rate_limited', 'too many', { retryAfterMs: 900 }));
    assert.equal(isError, true);
    const error = { reason: 'RateLimitExceeded', message: 'too many', retry_after_ms: 900 };
    assert.deepEqual(structuredContent, { error });
  });
});
