import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

const BIN = resolve('.cache', 'bin');
const GRPCURL = join(BIN, 'grpcurl');
const MODULE = 'github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3';
const PATH = [process.env.PATH ?? '', '/usr/local/go/bin'].join(delimiter);

/** Why grpcurl cannot be had on this machine, or null when it is there. Built once with Go, kept in `.cache/bin`. */
export function grpcurlMissing(): string | null {
  if (existsSync(GRPCURL)) return null;
  const env = { ...process.env, PATH, GOBIN: BIN };
  const { error, status, stderr } = spawnSync('go', ['install', MODULE], { env, encoding: 'utf8', timeout: 300_000 });
  if (error !== undefined) return `grpcurl is not built: go: ${error.message}`;
  return status === 0 ? null : `grpcurl is not built: ${stderr.slice(-500)}`;
}

interface GrpcurlRun {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs grpcurl without TLS and without a .proto file: it knows only what the server's reflection tells. */
export async function grpcurl(...args: readonly string[]): Promise<GrpcurlRun> {
  const child = spawn(GRPCURL, ['-plaintext', '-max-time', '20', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exitCode = await new Promise<number | null>((done, fail) => {
    child.once('error', fail);
    child.once('close', done);
  });
  return { exitCode, stdout, stderr };
}
