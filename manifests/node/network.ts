import { isIP, isIPv4 } from 'node:net';
import { z } from 'zod';
import { needsPaths } from '../expectation.ts';

/** 0 lets the system pick a free port. */
export const port = z.number().int().min(0).max(65_535);

const HOST = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;
const bind = z.string().refine((text) => isIP(text) !== 0 || HOST.test(text), {
  error: 'expected an IP address or a host name',
  params: { show: true },
});

/** As browsers write it: scheme, host, and the port unless it is the default one. */
const origin = z.string().refine((text) => /^https?:\/\//.test(text) && URL.parse(text)?.origin === text, {
  error: 'expected an origin such as https://tools.example.org, without a path',
  params: { show: true },
});

/** `10.1.2.3` or `10.0.0.0/8`. */
const addresses = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'expected an IP address or a network such as 10.0.0.0/8',
});

const path = z.string().min(1).max(4_096);

/** `spec.network.tls`: REST and gRPC on the public addresses accept only TLS. */
const tls = z
  .strictObject({
    enabled: z.boolean().default(false),
    cert_path: path.optional(),
    key_path: path.optional(),
    min_version: z.enum(['1.2', '1.3']).default('1.2'),
  })
  .superRefine(needsPaths('cert_path', 'key_path'));

/**
 * `spec.network`: the public listener, and the internal one for agents' programs and /metrics (S5). A public port of 0
 * means several nodes on one machine, so the internal port is 0 too unless it is set.
 */
export const NodeNetwork = z
  .strictObject({
    bind: bind.default('127.0.0.1'),
    port: port.default(8080),
    grpc_port: port.default(50_051),
    tls: tls.prefault({}),
    public_url: z
      .string()
      .refine((text) => /^https?:\/\//.test(text) && URL.parse(text)?.origin === text, {
        error: 'expected a URL such as https://svc.example.org, without a path',
        params: { show: true },
      })
      .optional(),
    trust_proxy: z.array(addresses).max(100).default([]),
    cors: z.strictObject({ allow: z.array(origin).max(100).default([]) }).prefault({}),
    internal: z
      .strictObject({
        bind: bind.default('127.0.0.1'),
        port: port.optional(),
        grpc_port: port.optional(),
      })
      .prefault({}),
  })
  .transform(({ internal, ...network }) => ({
    ...network,
    internal: {
      bind: internal.bind,
      port: internal.port ?? (network.port === 0 ? 0 : 8081),
      grpc_port: internal.grpc_port ?? (network.grpc_port === 0 ? 0 : 50_052),
    },
  }));

/** True for addresses that only this machine can reach. Other host names may resolve to any address. */
export const isLoopback = (address: string): boolean =>
  address === 'localhost' || address === '::1' || (isIPv4(address) && address.startsWith('127.'));
