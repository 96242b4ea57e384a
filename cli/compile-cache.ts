import { lstatSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/**
 * Keeps compiled code between starts, so that a node from a clone uses less memory and starts faster (decision 0007). Must
 * be loaded first (`node --import`, or by svc.ts). NODE_COMPILE_CACHE sets another directory, NODE_DISABLE_COMPILE_CACHE=1
 * turns it off.
 */
function keepCompiledCode(): void {
  if (typeof module.enableCompileCache !== 'function') return;
  const place = process.env.NODE_COMPILE_CACHE ?? ownDirectory();
  if (place !== undefined) module.enableCompileCache(place);
}

/** In the system's temporary directory. Not used unless only this user can write it, since its content is executed. */
function ownDirectory(): string | undefined {
  const { uid } = userInfo();
  const path = join(tmpdir(), `svc-compile-cache-${uid}`);
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const found = lstatSync(path);
    const isOurs = found.isDirectory() && (uid < 0 || (found.uid === uid && (found.mode & 0o022) === 0));
    return isOurs ? path : undefined;
  } catch {
    // The disk is full or read-only: the program works without a cache.
    return undefined;
  }
}

keepCompiledCode();
