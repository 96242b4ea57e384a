import type { WebhookScheme } from '../../../manifests/node/rate-limits.ts';

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
    key: 'evt_test_webhook',
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

/** One event, and two tries to deliver it. */
export interface EventVector {
  readonly scheme: 'stripe' | 'slack';
  readonly secret: string;
  readonly body: string;
  readonly id: string;
  /** Each with its time in whole seconds since 1970, and the signature as Python's `hmac` makes it. */
  readonly tries: readonly { readonly seconds: number; readonly digest: string }[];
}

export const EVENT_VECTORS: readonly EventVector[] = [
  {
    scheme: 'stripe',
    secret: 'whsec_test_secret',
    body: '{"id":"evt_1SvcPaid","object":"event","type":"invoice.paid","data":{"object":{"id":"in_1"}}}',
    id: 'evt_1SvcPaid',
    tries: [
      { seconds: 1_700_000_000, digest: '9a2f0ce8d844edbc43641549c2cbe8ec87690ee18c1d2290b71a4de1b4060445' },
      { seconds: 1_700_003_600, digest: '3b278c0dd3faca8d690eab89770d4f360c2146e8c9c4b0a4d252c65f3ae348ff' },
    ],
  },
  {
    scheme: 'slack',
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    body: '{"type":"event_callback","team_id":"T1","event_id":"Ev0SVCMENTION","event_time":1700000000,"event":{"type":"app_mention"}}',
    id: 'Ev0SVCMENTION',
    tries: [
      { seconds: 1_700_000_000, digest: '0d11efe9187ca428abaeb1b328a3e06156e2e1e975feb1207adf75a0d0184c5d' },
      { seconds: 1_700_003_600, digest: '1a3db48af42c3c561d4fc32defc155b58126039af0b081d31487b26b1770b2be' },
    ],
  },
];

/** Headers of a try of that scheme. */
export const eventHeaders = (scheme: EventVector['scheme'], seconds: number, digest: string): Record<string, string> =>
  scheme === 'stripe'
    ? { 'stripe-signature': `t=${seconds},v1=${digest}` }
    : { 'x-slack-request-timestamp': String(seconds), 'x-slack-signature': `v0=${digest}` };
