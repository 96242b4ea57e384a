import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import protobuf from 'protobufjs';

/**
 * The four messages of SvcRuntime that an agent needs, typed by hand and not taken from our .proto (G12, G13): what the
 * author of an agent in another language has.
 */
const PAGE = `
syntax = "proto3";
package svc.runtime.v1;
message AttestAgentRequest { string agent_id = 1; string execution_id = 2; string container_id = 3; string public_key_pem = 4; }
message AttestAgentResponse { string security_token = 1; }
message InvokeToolRequest {
  string protocol = 1; string security_token = 2; string signature = 3; bytes payload = 4; string timestamp = 5;
}
message InvokeToolResponse { bytes result_json = 1; }
`;

const { root } = protobuf.parse(PAGE, { keepCase: true });

type Method = 'AttestAgent' | 'InvokeTool';

interface PageAnswer {
  /** Name of the status. */
  readonly code: string;
  readonly details: string;
  readonly trailers: Metadata;
  readonly message: Readonly<Record<string, unknown>>;
}

const asBytes = (value: Buffer): Buffer => value;

export const encode = (method: Method, fields: Readonly<Record<string, unknown>>): Buffer =>
  Buffer.from(root.lookupType(`svc.runtime.v1.${method}Request`).encode(fields).finish());

function decode(method: Method, bytes: Buffer): Record<string, unknown> {
  const type = root.lookupType(`svc.runtime.v1.${method}Response`);
  return type.toObject(type.decode(bytes), { defaults: true });
}

/** A connection that uses only the page of the documentation. */
export class PageClient implements Disposable {
  readonly #client: Client;

  constructor(address: string) {
    this.#client = new Client(address, credentials.createInsecure());
  }

  call(method: Method, request: Buffer, headers: Readonly<Record<string, string>> = {}): Promise<PageAnswer> {
    const metadata = new Metadata();
    for (const [key, value] of Object.entries(headers)) metadata.set(key, value);
    const path = `/svc.runtime.v1.SvcRuntime/${method}`;
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(path, asBytes, asBytes, request, metadata, (error, bytes) => {
        if (error === null && bytes !== undefined) {
          resolve({ code: 'OK', details: '', trailers: new Metadata(), message: decode(method, bytes) });
        } else {
          const { code = status.UNKNOWN, details = '', metadata: trailers = new Metadata() } = error ?? {};
          resolve({ code: status[code], details, trailers, message: {} });
        }
      });
    });
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}
