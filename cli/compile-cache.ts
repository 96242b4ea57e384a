import { lstatSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/**
 * Keeps compiled code between starts: a node from a clone is smaller and up sooner (decision 0007). Loaded before
 * everything else (`node --import`, or by svc.ts before its first import). NODE_COMPILE_CACHE names another place,
 * NODE_DISABLE_COMPILE_CACHE=1 turns it off.
 */
function keepCompiledCode(): void {
  if (typeof module.enableCompileCache !== 'function') return;
  const place = process.env.NODE_COMPILE_CACHE ?? ownDirectory();
  if (place !== undefined) module.enableCompileCache(place);
}

/** Below the system's temporary directory: ours alone, or not used, since what is in it will be run. */
function ownDirectory(): string | undefined {
  const { uid } = userInfo();
  const path = join(tmpdir(), `svc-compile-cache-${uid}`);
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const found = lstatSync(path);
    const isOurs = found.isDirectory() && (uid < 0 || (found.uid === uid && (found.mode & 0o022) === 0));
    return isOurs ? path : undefined;
  } catch {
    // A read-only or full disk: everything works without a cache.
    return undefined;
  }
}

keepCompiledCode();
