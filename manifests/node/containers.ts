import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import { bytes, millicores } from '../duration.ts';
import { refuse } from '../expectation.ts';
import { RuntimeSettings } from '../runtime-table/table.ts';
import { secretText } from '../secret.ts';

const MiB = 1_048_576;

const TiB = 1_024 ** 4;

const size = (min: number, value: string, text: string) => bytes({ min, max: 64 * TiB, text }).prefault(value);

/** Networks that are, or may be, this machine's own, which reach the node's listeners on its loopback. */
const SHARED_NETWORK = /^(host|default|private|slirp4netns|pasta)$/;

/** A network of the engine. One that reaches the node's listeners is refused, whatever its options. */
export const containerNetwork = z
  .string()
  .max(200)
  .refine(
    (text) => /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(text) && !SHARED_NETWORK.test(text),
    "expected none, bridge or the name of a network of the engine: what agents run must not share this machine's own",
  )
  .optional();

/**
 * `spec.runtime.containers`: settings of every container of a workflow or agent on this node
 * (docs/guides/containers.md).
 */
export const NodeContainers = z.strictObject({
  /** Limit of processes and threads in one container. */
  pids_limit: z.number().int().min(1).max(1_000_000).default(256),
  /** For steps without a memory limit. */
  cpu: millicores({ min: 1, max: 1_024_000 }).prefault(2_000),
  memory: size(6 * MiB, '2Gi', 'at least 6Mi'),
  /** `uid` or `uid:gid` instead of the image's user. */
  user: z
    .string()
    .regex(/^\d{1,10}(:\d{1,10})?$/, 'expected uid or uid:gid')
    .optional(),
  read_only_root: z.boolean().default(false),
  /** Size of the tmpfs at /tmp; its files count as the container's memory. */
  tmp_size: size(MiB, '256Mi', 'at least 1Mi'),
  /** A container that writes more to stdout and stderr is killed. */
  output_limit: size(MiB, '1Gi', 'at least 1Mi'),
  /** Pull every image again, so that one tenant's private image is not available to others. */
  always_pull: z.boolean().default(false),
  /** Registries that images are pulled from; absent: all but link-local addresses and metadata services. */
  registries: z
    .array(
      z
        .string()
        .max(260)
        .regex(
          /^(\*\.)?[A-Za-z0-9][A-Za-z0-9.-]*(:\d{1,5})?$/,
          'expected a host such as docker.io, host:5000 or *.example.com',
        ),
    )
    .max(100)
    .optional(),
  /** Images for agents that name language and version; override the defaults. */
  runtimes: RuntimeSettings.prefault({}),
  /** Image for agents that name neither an image nor a language. */
  agent_image: z.string().min(1).max(1_024).default('docker.io/library/alpine:3.22'),
  /** Network of agents whose manifest allows the whole network; default `spec.runtime.container_network_mode`. */
  agent_network: containerNetwork,
  /** Honours SVC_KEEP_CONTAINER of agents: their containers stay until they are removed by hand. */
  keep_agent_containers: z.boolean().default(false),
});

const tenant = z.string().min(1).max(128);

/** Paths that the sandbox itself provides, so nothing of the host can be mounted there. */
const TAKEN = /^\/(?:$|(?:proc|sys|dev|workspace)(?:\/|$))/;

export const SharedPath = z.strictObject({
  /** Path on this host; commands see it at the same path. */
  path: z
    .string()
    .max(4_096)
    .regex(/^\/[^\0]*$/, 'expected an absolute path')
    .refine((path) => !path.split('/').includes('..'), 'expected a path without ".." in it')
    .transform((path) => path.replace(/\/+$/, '') || '/')
    .refine((path) => !TAKEN.test(path), 'expected a path other than /, and none in /proc, /sys, /dev or /workspace'),
  writable: z.boolean().default(false),
});

/** `spec.runtime.host_commands`: `cmd.run`, System states, ExecuteSystemCommand and agents' programs on this host. */
export const NodeHostCommands = z.strictObject({
  /** Tenants that may run commands when authentication is on (S6). */
  allow: z.array(tenant).max(1_000).default([]),
  /**
   * `auto`: sandboxed where the node can; where it cannot, a node without identity provider warns and runs commands without a
   * sandbox, and a node with one does not start. `required`: sandboxed, or the node does not start. `off`: no sandbox.
   */
  sandbox: z.enum(['auto', 'required', 'off']).default('auto'),
  /** `host`: the host's network for System states, and for agents whose manifest allows the whole network. */
  network: z.enum(['none', 'host']).default('none'),
  /** Paths of this host that commands see, beside the system's programs. */
  paths: z.array(SharedPath).max(100).default([]),
});

/** At least 8 bits, so that a typing error does not open every address. */
const cidr = z
  .string()
  .max(100)
  .refine(isCidr, {
    error: 'expected an address range such as 10.1.0.0/16 or fd00:1::/32, of at least 8 bits',
    params: { show: true },
  });

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/');
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) < 8) return false;
  return (isIPv4(address) && Number(bits) <= 32) || (isIPv6(address) && !address.includes('%') && Number(bits) <= 128);
}

const endpoint = z
  .url({ protocol: /^https?$/, error: 'expected an http or https URL' })
  .max(2_000)
  .refine((text) => URL.canParse(text) && new URL(text).username === '' && new URL(text).password === '', {
    error: 'expected a URL without user name and password; put the key into api_key',
  });

const SEARCH_PROVIDERS = ['searxng', 'brave', 'tavily'] as const;

/** Provider of `web.search`. */
const Search = z
  .strictObject({
    provider: z.enum(SEARCH_PROVIDERS),
    /** Base URL; Brave and Tavily have defaults. The operator sets it, so it may be private. */
    endpoint: endpoint.optional(),
    api_key: secretText.optional(),
  })
  .superRefine(({ provider, endpoint: at, api_key }, check) => {
    const wrong = (field: string, message: string): void => refuse(check, [field], message);
    if (provider === 'searxng' && at === undefined) wrong('endpoint', 'provider searxng needs the endpoint');
    if (provider !== 'searxng' && api_key === undefined) wrong('api_key', `provider ${provider} needs the api_key`);
  });

/** `spec.web`: limits of the tools web.fetch and web.search on this node (docs/reference/web-tools.md). */
export const NodeWeb = z.strictObject({
  /** Without it web.search fails as not configured. */
  search: Search.optional(),
  user_agent: z
    .string()
    .max(200)
    .regex(/^[\x20-\x7e]+$/, 'expected printable ASCII')
    .default('svc-web-fetch/1'),
  /** Limit of one page, also after decompression; the rest is cut off. */
  max_bytes: z
    .number()
    .int()
    .min(1_024)
    .max(64 * MiB)
    .default(5 * MiB),
  timeout_ceiling_secs: z.number().int().min(1).max(3_600).default(120),
  /** Private ranges that may be fetched from nevertheless. Every agent of the node can reach them. */
  allow_addresses: z.array(cidr).max(100).default([]),
});

export type NodeWeb = z.output<typeof NodeWeb>;
