import type { ToolCommands } from '../effects/commands/api.ts';
import { commandTools } from './command/tools.ts';
import { discoveryTools, type Listing } from './discovery/tools.ts';
import { editTools } from './files/edit-tools.ts';
import { entryTools } from './files/entry-tools.ts';
import type { FilePorts } from './files/places.ts';
import { searchTools } from './files/search-tools.ts';
import { lateManagementTools } from './management/late-tools.ts';
import type { LateManagement } from './management/ports.ts';
import type { Tool } from './tool.ts';
import { type WebPorts, webTools } from './web/tools.ts';

/** What this node has for tools to work with. What is absent is not offered either: see `DeskParts.without`. */
export interface BuiltInParts {
  readonly files: FilePorts;
  readonly web?: WebPorts;
  readonly commands?: ToolCommands;
  readonly listing: Listing;
  /** The areas behind svc.*. */
  readonly management?: LateManagement;
}

/** Handlers of the built-in tools, for `createToolEffect`. */
export function createBuiltInTools({ files, web, commands, listing, management }: BuiltInParts): Tool[] {
  return [
    ...entryTools(files),
    ...editTools(files),
    ...searchTools(files),
    ...(web === undefined ? [] : webTools(web)),
    ...(commands === undefined ? [] : commandTools(commands)),
    ...discoveryTools(listing),
    ...(management === undefined ? [] : lateManagementTools(management, listing)),
  ];
}
