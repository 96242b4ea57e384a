import type { WebhookScheme } from '../../../manifests/node/stimulus.ts';

/** A delivery as the documentation of its sender has it. */
export interface Vector {
  readonly scheme: WebhookScheme;
  readonly secret: string;
  /** Unix ms at which it was sent. */
  readonly sentAt: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What a repeat has in common with it. */
  readonly key: string | undefined;
  /** Headers that are signed, beside the one with the signature. */
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

const SLACK_BODY = [
  'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V',
  'channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=',
  'response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN',
  'trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
].join('&');

export const VECTORS: readonly Vector[] = [
  {
    // RFC 4231, test case 2.
    scheme: 'svc',
    secret: 'Jefe',
    sentAt: 1_600_000_000_000,
    body: 'what do ya want for nothing?',
    headers: {
      'x-svc-signature': 'sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
      'x-idempotency-key': 'delivery-7',
    },
    key: 'delivery-7',
    signedHeaders: [],
    signature: 'x-svc-signature',
  },
  {
    // The example of the Standard Webhooks libraries.
    scheme: 'standard-webhooks',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    sentAt: 1_614_265_330_000,
    body: '{"test": 2432232314}',
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    key: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    signedHeaders: ['webhook-id', 'webhook-timestamp'],
    signature: 'webhook-signature',
  },
  {
    // The time of Stripe's documentation, signed by the function that Stripe's library has for tests.
    scheme: 'stripe',
    secret: 'whsec_test_secret',
    sentAt: 1_492_774_577_000,
    body: '{"id":"evt_test_webhook","object":"event"}',
    headers: {
      'stripe-signature': 't=1492774577,v1=88a022085c6bdb887b02cb26ff76dd681234d9675c0f22844059f55552a8883a',
    },
    key: 'sha256:88a022085c6bdb887b02cb26ff76dd681234d9675c0f22844059f55552a8883a',
    signedHeaders: [],
    signature: 'stripe-signature',
  },
  {
    // Slack, "Verifying requests from Slack".
    scheme: 'slack',
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    sentAt: 1_531_420_618_000,
    body: SLACK_BODY,
    headers: {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
    key: 'sha256:a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    signedHeaders: ['x-slack-request-timestamp'],
    signature: 'x-slack-signature',
  },
  {
    // GitHub, "Validating webhook deliveries".
    scheme: 'github',
    secret: "It's a Secret to Everybody",
    sentAt: 1_600_000_000_000,
    body: 'Hello, World!',
    headers: {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
      'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    },
    key: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    signedHeaders: [],
    signature: 'x-hub-signature-256',
  },
];
