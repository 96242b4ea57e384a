import { z } from 'zod';
import { bytes, millicores } from '../quantity.ts';
import { RuntimeSettings } from '../runtime-table/settings.ts';

const MiB = 1_048_576;
const TiB = 1_024 ** 4;
const size = (min: number, value: string, text: string) => bytes({ min, max: 64 * TiB, text }).prefault(value);

/** Those that are, or look like, this machine's own network, with the listeners of the node on its loopback. */
const SHARED_NETWORK = /^(host|default|private|slirp4netns|pasta)$/;

/** A network of the engine: one that leads to the listeners of the node is refused, whatever its options. */
export const containerNetwork = z
  .string()
  .max(200)
  .refine(
    (text) => /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(text) && !SHARED_NETWORK.test(text),
    "expected none, bridge or the name of a network of the engine: what agents run must not share this machine's own",
  )
  .optional();

/** `spec.runtime.containers`: what every container of a workflow or agent gets on this node (docs/containers.md). */
export const NodeContainers = z.strictObject({
  /** Processes and threads of one container. */
  pids_limit: z.number().int().min(1).max(1_000_000).default(256),
  /** For steps that name none. */
  cpu: millicores({ min: 1, max: 1_024_000 }).prefault(2_000),
  memory: size(6 * MiB, '2Gi', 'at least 6Mi'),
  /** `uid` or `uid:gid` instead of the image's user. */
  user: z
    .string()
    .regex(/^\d{1,10}(:\d{1,10})?$/, 'expected uid or uid:gid')
    .optional(),
  read_only_root: z.boolean().default(false),
  /** Size of the tmpfs at /tmp; its files count as memory of the container. */
  tmp_size: size(MiB, '256Mi', 'at least 1Mi'),
  /** A container that writes more to stdout and stderr is killed. */
  output_limit: size(MiB, '1Gi', 'at least 1Mi'),
  /** Pull every image anew, so that one tenant's private image is not another's. */
  always_pull: z.boolean().default(false),
  /** Images of agents that name language and version, over the defaults. */
  runtimes: RuntimeSettings.prefault({}),
  /** Of agents that name neither an image nor a language. */
  agent_image: z.string().min(1).max(1_024).default('docker.io/library/alpine:3.22'),
  /** Of agents whose manifest allows all of the network; default `spec.runtime.container_network_mode`. */
  agent_network: containerNetwork,
  /** Honours SVC_KEEP_CONTAINER of agents: their containers stay until somebody removes them. */
  keep_agent_containers: z.boolean().default(false),
});
