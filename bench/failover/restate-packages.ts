import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { npmPackages } from '../npm-packages.ts';

const SERVER = '1.7.12';
const SDK = '1.17.2';

export interface RestatePackages {
  /** Folder with the `node_modules` of Restate's SDK. */
  readonly folder: string;
  /** Path of the server's binary. */
  readonly server: string;
  /** `server 1.2.3, SDK 1.2.3`. */
  readonly versions: string;
}

/**
 * Restate's server and SDK, which are not dependencies: npm installs them on first use into `.cache`, without running
 * their scripts. Rejects when npm cannot get them, or there is no server for this machine.
 */
export async function restatePackages(): Promise<RestatePackages> {
  const wanted = [`@restatedev/restate-server@${SERVER}`, `@restatedev/restate-sdk@${SDK}`];
  const folder = await npmPackages(`restate-${SERVER}-${SDK}`, wanted);
  const platform = `restate-server-${process.platform}-${process.arch}`;
  const server = join(folder, 'node_modules', '@restatedev', platform, 'bin', 'restate-server');
  if (!existsSync(server)) throw new Error(`Restate has no server for ${process.platform} ${process.arch}`);
  return { folder, server, versions: `server ${SERVER}, SDK ${SDK}` };
}
