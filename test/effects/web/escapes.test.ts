import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { AddressGuard } from '../../../effects/web/guarded-agent.ts';
import { WEB_ESCAPES, type WebEscape } from './escapes.ts';
import { fetchFrom, type PageServer, serve, webOver } from './page-server.ts';

/** The server that must never get a request. */
let secret: PageServer;
before(async () => {
  secret = await serve((_, response) => response.end('secret'), '127.0.0.1');
});
after(async () => secret[Symbol.asyncDispose]());

/** A page whose n-th visit redirects to the n-th target. */
const redirecting = (targets: readonly string[]) => {
  const left = [...targets];
  return serve((_, response) => {
    const target = left.shift();
    if (target === undefined) response.end('end');
    else response.writeHead(302, { location: target }).end();
  });
};

/** Answers of a hostile resolver; names without an entry are public. */
function resolver(names: WebEscape['names'] = {}) {
  const looks = new Map<string, number>();
  return async (name: string): Promise<readonly string[]> => {
    const answers = names[name] ?? [[name === 'start.example' ? '127.0.0.2' : '198.41.0.5']];
    const look = looks.get(name) ?? 0;
    looks.set(name, look + 1);
    return answers[Math.min(look, answers.length - 1)] ?? [];
  };
}

describe('web.fetch cannot be made to reach', () => {
  for (const attempt of WEB_ESCAPES) {
    test(attempt.title.slice(0, 120), async () => {
      const here = (text: string): string => text.replaceAll('PORT', String(secret.port));
      await using pages = await redirecting((attempt.redirects ?? []).map(here));
      const own = () => new Set(['198.41.0.4']);
      const web = webOver({}, { resolve: resolver(attempt.names), ownAddresses: own });
      const url = here(attempt.url).replaceAll('OPEN', String(pages.port));
      await assert.rejects(fetchFrom(web, url, { timeout_ms: 5_000 }), { code: attempt.code });
      assert.deepEqual(secret.asked, []);
      const visits = attempt.redirects?.length ?? 0;
      assert.equal(pages.asked.length, visits);
      await web.close();
    });
  }
});

describe('a checked address', () => {
  test('the connection goes to the checked address: a name is resolved once, whatever it answers later', async () => {
    await using pages = await serve((_, response) => response.end('public'));
    let looks = 0;
    const resolve = async () => {
      looks += 1;
      return [looks === 1 ? '127.0.0.2' : '127.0.0.1'];
    };
    const web = webOver({}, { resolve });
    const page = await fetchFrom(web, `http://rebind.example:${pages.port}/x`);
    assert.equal(page.text, 'public');
    assert.equal(looks, 1);
    assert.deepEqual(pages.asked, [`rebind.example:${pages.port} /x`]);
    await web.close();
  });

  test('a checked address is public, or allowed by the operator, also in its IPv6 form', () => {
    const guard = new AddressGuard(['10.1.0.0/16', 'fd00:1::/32'], () => new Set(['198.41.0.4']));
    for (const good of ['8.8.8.8', '198.41.0.5', '2606:4700::1111', '64:ff9b::8.8.8.8', '::ffff:8.8.8.8']) {
      assert.equal(guard.fault(good), null, good);
    }
    for (const allowed of ['10.1.2.3', '::ffff:10.1.2.3', 'fd00:1::5']) assert.equal(guard.fault(allowed), null);
    for (const bad of ['10.2.0.1', '::ffff:10.2.0.1', 'fd00:2::5', '198.41.0.4', '::ffff:198.41.0.4', '127.0.0.1']) {
      assert.notEqual(guard.fault(bad), null, bad);
    }
  });

  test('errors name the host and the kind of its address, not the address', async () => {
    const web = webOver({}, { resolve: async () => ['10.9.8.7'] });
    await assert.rejects(fetchFrom(web, 'http://intern.example/'), (error: Error) => {
      assert.equal(error.message, 'intern.example is not a public address (private)');
      return true;
    });
    await web.close();
  });
});
