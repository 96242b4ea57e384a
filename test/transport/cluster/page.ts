import {
  type ChannelCredentials,
  Client,
  type ClientOptions,
  type ClientReadableStream,
  credentials,
  Metadata,
  type StatusObject,
  status,
} from '@grpc/grpc-js';
import protobuf from 'protobufjs';

/**
 * The messages of NodeClusterService, written by hand from the specification (G16–G32) and not taken from the product's
 * .proto, as the author of a worker in another language would.
 */
const PAGE = `
syntax = "proto3";
package svc.cluster.v1;

enum NodeRole { CONTROLLER = 0; WORKER = 1; HYBRID = 2; }
enum NodePeerStatus { ACTIVE = 0; DRAINING = 1; UNHEALTHY = 2; }

message AttestNodeRequest { string node_id = 1; string public_key_pem = 2; NodeRole role = 3; }
message AttestNodeResponse { string challenge_nonce = 1; string challenge_id = 2; }
message ChallengeNodeRequest { string challenge_id = 1; bytes signature = 2; }
message ChallengeNodeResponse { string node_security_token = 1; string expires_at = 2; }
message RegisterNodeRequest { NodeCapabilityAdvertisement capabilities = 1; }
message NodeCapabilityAdvertisement {
  uint32 gpu_count = 1; float vram_gb = 2; uint32 cpu_cores = 3; float available_memory_gb = 4;
  repeated string supported_runtimes = 5; repeated string tags = 6;
}
message RegisterNodeResponse { string peer_id = 1; }
message HeartbeatRequest {
  string peer_id = 1; uint32 active_execution_count = 2; float cpu_utilization_percent = 3;
  float memory_utilization_percent = 4; NodePeerStatus status = 5;
}
message HeartbeatResponse { repeated NodeCommand commands = 1; }
message NodeCommand {
  oneof command { DrainCommand drain = 1; ShutdownCommand shutdown = 2; SyncConfigCommand sync_config = 3; }
}
message DrainCommand { bool drain = 1; }
message ShutdownCommand { string reason = 1; }
message SyncConfigCommand { string config_version = 1; bytes config_payload = 2; }
message DeregisterNodeRequest { string node_id = 1; string reason = 2; }
message DeregisterNodeResponse { bool accepted = 1; }
message RouteExecutionRequest { string execution_id = 1; NodeCapabilityAdvertisement required = 2; }
message RouteExecutionResponse { string target_node_id = 1; string worker_grpc_address = 2; }
message ForwardExecutionRequest {
  string execution_id = 1; string agent_id = 2; string manifest_yaml = 3; string input = 4; string context_json = 5;
}
message ListPeersRequest { optional NodePeerStatus filter_status = 1; }
message ListPeersResponse { repeated NodePeer peers = 1; }
message NodePeer {
  string node_id = 1; NodeRole role = 2; NodeCapabilityAdvertisement capabilities = 3; string last_heartbeat_at = 4;
  NodePeerStatus status = 5; string grpc_address = 6;
}
message SyncConfigRequest {}
message SyncConfigResponse { string config_yaml = 1; string config_hash = 2; }
message PushConfigRequest { string config_yaml = 1; string config_hash = 2; }
message PushConfigResponse { bool accepted = 1; optional string rejection_reason = 2; }
message SealNodeEnvelope { string node_security_token = 1; bytes signature = 2; bytes payload = 3; }

message ExecutionStarted { string execution_id = 1; string agent_id = 2; string started_at = 3; }
message IterationStarted { string execution_id = 1; uint32 iteration_number = 2; string action = 3; string started_at = 4; }
message IterationOutput { string execution_id = 1; uint32 iteration_number = 2; string output = 3; }
message IterationCompleted { string execution_id = 1; uint32 iteration_number = 2; string output = 3; string completed_at = 4; }
message IterationError { string error_type = 1; string message = 2; optional string stacktrace = 3; }
message IterationFailed { string execution_id = 1; uint32 iteration_number = 2; IterationError error = 3; string failed_at = 4; }
message RefinementApplied { string execution_id = 1; uint32 iteration_number = 2; string code_diff = 3; string applied_at = 4; }
message ExecutionCompleted { string execution_id = 1; string final_output = 2; uint32 total_iterations = 3; string completed_at = 4; }
message ExecutionFailed { string execution_id = 1; string reason = 2; uint32 total_iterations = 3; string failed_at = 4; }
message ExecutionEvent {
  oneof event {
    ExecutionStarted execution_started = 1; IterationStarted iteration_started = 2; IterationOutput iteration_output = 3;
    IterationCompleted iteration_completed = 4; IterationFailed iteration_failed = 5;
    RefinementApplied refinement_applied = 6; ExecutionCompleted execution_completed = 7; ExecutionFailed execution_failed = 8;
  }
}
message ExecuteAgentRequest { string agent_id = 1; string input = 2; string context_json = 3; }
`;

export const { root } = protobuf.parse(PAGE, { keepCase: true });

/** Fields, under the names of the specification. */
export type Fields = Readonly<Record<string, unknown>>;

export const encode = (type: string, fields: Fields): Buffer =>
  Buffer.from(root.lookupType(`svc.cluster.v1.${type}`).encode(fields).finish());

const decode = (type: string, bytes: Buffer): Record<string, unknown> =>
  root
    .lookupType(`svc.cluster.v1.${type}`)
    .toObject(root.lookupType(`svc.cluster.v1.${type}`).decode(bytes), { defaults: true, oneofs: true });

export interface Answer {
  /** Name of the status. */
  readonly code: string;
  readonly details: string;
  /** First metadata and trailers. */
  readonly metadata: readonly Metadata[];
  readonly message: Record<string, unknown>;
}

export type Extra = Readonly<Record<string, string>>;

const asBytes = (value: Buffer): Buffer => value;

/** A client made of these messages alone. */
export class PageClient {
  readonly #client: Client;

  constructor(
    address: string,
    secured: ChannelCredentials = credentials.createInsecure(),
    options: ClientOptions = {},
  ) {
    this.#client = new Client(address, secured, options);
  }

  close(): void {
    this.#client.close();
  }

  /** The answer to a unary call, whatever its status. */
  async unary(method: string, request: Buffer, extra: Extra = {}): Promise<Answer> {
    return new Promise((resolve) => {
      const metadata: Metadata[] = [];
      let end: StatusObject | undefined;
      let bytes: Buffer | undefined;
      const done = (): void => {
        if (end === undefined) return;
        metadata.push(end.metadata);
        const message = bytes === undefined ? {} : decode(`${method}Response`, bytes);
        resolve({ code: status[end.code], details: end.details, metadata, message });
      };
      const path = `/svc.cluster.v1.NodeClusterService/${method}`;
      const call = this.#client.makeUnaryRequest(
        path,
        asBytes,
        asBytes,
        request,
        metadataOf(extra),
        (_error, answer) => {
          bytes = answer;
          // The status arrives before or after the answer.
          setImmediate(done);
        },
      );
      call.on('metadata', (first) => metadata.push(first));
      call.on('status', (last) => {
        end = last;
      });
    });
  }

  stream(path: string, request: Buffer, extra: Extra = {}): ClientReadableStream<Buffer> {
    return this.#client.makeServerStreamRequest(path, asBytes, asBytes, request, metadataOf(extra));
  }
}

/** Reads a stream of ExecutionEvent to its end. */
export async function eventsOf(
  call: ClientReadableStream<Buffer>,
): Promise<{ code: string; details: string; events: Record<string, unknown>[] }> {
  const events: Record<string, unknown>[] = [];
  call.on('data', (bytes: Buffer) => events.push(decode('ExecutionEvent', bytes)));
  call.on('error', () => {
    // The status has the error.
  });
  const read = new Promise((resolve) => call.once('end', resolve));
  const end = await new Promise<StatusObject>((resolve) => call.once('status', resolve));
  await read;
  return { code: status[end.code], details: end.details, events };
}

function metadataOf(extra: Extra): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(extra)) metadata.set(key, value);
  return metadata;
}
