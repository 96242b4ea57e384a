import { generateKeyPairSync } from 'node:crypto';
import { credentials } from '@grpc/grpc-js';
import type { ConfigVerdict } from '../../cluster/registration/managed-config.ts';
import {
  type Registration,
  type RegistrationOptions,
  startRegistration,
} from '../../cluster/registration/registration.ts';
import type { NodeKey } from '../../security/node-key.ts';

export function newNodeKey(): NodeKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  return { publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(), privateKey };
}

/** Calls and log lines of a node under test. */
export class RegisteredNode implements AsyncDisposable {
  readonly drains: number[] = [];
  readonly shutdowns: string[] = [];
  readonly configs: string[] = [];
  readonly lines: { readonly level: string; readonly text: string }[] = [];
  verdict: () => Promise<ConfigVerdict> = async () => ({ accepted: true });
  tags: string[] = ['gpu'];
  draining = false;
  readonly registration: Registration;

  constructor(controllers: readonly string[], given: Partial<RegistrationOptions> = {}) {
    const say =
      (level: string) =>
      (fields: Readonly<Record<string, unknown>>, message: string): void => {
        const shown = Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`);
        this.lines.push({ level, text: [message, ...shown].join(' ') });
      };
    this.registration = startRegistration({
      nodeId: 'worker-1',
      role: 'WORKER',
      controllers,
      credentials: credentials.createInsecure(),
      key: newNodeKey(),
      grpcAddress: '10.0.0.7:50056',
      capabilities: () => ({
        gpu_count: 1,
        vram_gb: 24,
        cpu_cores: 8,
        available_memory_gb: 32,
        supported_runtimes: ['process'],
        tags: this.tags,
      }),
      activeExecutions: () => 3,
      draining: () => this.draining,
      heartbeatIntervalMs: 20,
      tokenRefreshMarginMs: 120_000,
      onDrain: () => {
        this.drains.push(1);
      },
      onShutdown: (reason) => {
        this.shutdowns.push(reason);
      },
      applyConfig: async (yaml) => {
        this.configs.push(yaml);
        return await this.verdict();
      },
      log: { info: say('info'), warn: say('warn'), error: say('error') },
      // More than a busy machine needs for a call, since tests count attempts. Tests of time-outs set their own.
      callTimeoutMs: 3_000,
      ...given,
    });
  }

  said(level: string, pattern: RegExp): boolean {
    return this.lines.some((line) => line.level === level && pattern.test(line.text));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.registration.stop();
  }
}
