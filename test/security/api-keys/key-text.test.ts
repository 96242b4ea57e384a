import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { holds, isWithin, makesKeys, SCOPES, scopeOf } from '../../../security/api-keys/api.ts';
import { digestOf, isKeyText, looksLikeKey, makeKeyText } from '../../../security/api-keys/record.ts';
import { isSameSecret } from '../../../security/constant-time.ts';

const swapCase = (text: string): string =>
  text.replace(/[a-z]/gi, (char) => (char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase()));

describe('the text of an API key', () => {
  test('1,000 keys are all different, well formed, and of 53 characters', () => {
    const keys = Array.from({ length: 1_000 }, () => makeKeyText());
    assert.equal(new Set(keys).size, 1_000);
    assert.equal(new Set(keys.map(digestOf)).size, 1_000);
    for (const key of keys) {
      assert.ok(isKeyText(key) && looksLikeKey(key));
      assert.match(key, /^svc_[A-Za-z0-9_-]{49}$/);
    }
  });

  test('a key with missing, swapped, mistyped or added characters is rejected without a read of the store', () => {
    const key = makeKeyText(() => Buffer.alloc(32, 7));
    const body = key.slice(4);
    for (let length = 0; length < key.length; length += 1) assert.ok(!isKeyText(key.slice(0, length)), `${length}`);
    for (let at = 0; at < body.length; at += 1) {
      const other = body[at] === 'A' ? 'B' : 'A';
      assert.ok(!isKeyText(`svc_${body.slice(0, at)}${other}${body.slice(at + 1)}`), `character ${at}`);
    }
    const wrong = [`svc_${swapCase(body)}`, `SVC_${body}`, `${key}=`, ` ${key}`, `${key}\n`, `${key}${key}`, body, ''];
    for (const text of wrong) assert.ok(!isKeyText(text), JSON.stringify(text));
  });

  test('texts of any length and content are compared without an error', () => {
    assert.ok(isSameSecret('same', 'same'));
    for (const other of ['', 'sam', 'samE', 'same ', 'ſame']) assert.ok(!isSameSecret('same', other), other);
  });
});

describe('scopes', () => {
  test('a scope includes itself, AREA:* all scopes of its area, and * all scopes but keys:write', () => {
    assert.ok(holds(['executions:read'], 'executions:read'));
    assert.ok(!holds(['executions:read'], 'executions:write'));
    assert.ok(holds(['agents:*'], 'agents:write'));
    assert.ok(!holds(['agents:*'], 'executions:read'));
    assert.ok(holds(['*'], 'secrets:write'));
    assert.ok(!holds(['*'], 'keys:write'));
    assert.ok(holds(['*', 'keys:write'], 'keys:write'));
    assert.ok(!holds([], 'agents:read'));
    assert.ok(!holds(['agents:*'], '*'), 'what belongs to no area needs *');
  });

  test('a key cannot grant a scope that it does not have', () => {
    for (const scope of SCOPES) {
      assert.ok(isWithin(scope, [scope]), scope);
      assert.ok(!isWithin(scope, scope.startsWith('tools:') ? ['agents:*'] : ['tools:*']), scope);
      assert.equal(isWithin(scope, ['*']), !makesKeys([scope]), scope);
    }
    assert.ok(isWithin('agents:*', ['agents:read', 'agents:write']));
    assert.ok(!isWithin('agents:*', ['agents:read']));
    assert.ok(
      !isWithin(
        '*',
        SCOPES.filter((scope) => scope !== '*'),
      ),
      'what is added later is in * alone',
    );
  });

  test('reads need read, everything else write, and calling a tool call', () => {
    assert.equal(scopeOf('executions', 'run'), 'executions:write');
    assert.equal(scopeOf('cluster', 'inspect'), 'cluster:read');
    assert.equal(scopeOf('tools', 'run'), 'tools:call');
    assert.equal(scopeOf('tools', 'read'), 'tools:read');
    for (const action of ['read', 'run', 'write', 'inspect', 'operate', 'break'] as const) {
      assert.ok(SCOPES.includes(scopeOf('tools', action)) && SCOPES.includes(scopeOf('limits', action)));
    }
  });
});
