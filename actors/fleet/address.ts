import { addressOf } from '../../runtime/address.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';

/** There is one of each. */
export const FLEET = addressOf('fleet', SYSTEM_TENANT, 'fleet');
export const FLEET_ROTATION = addressOf('fleet-rotation', SYSTEM_TENANT, 'fleet');
export const FLEET_CONFIG = addressOf('fleet-config', SYSTEM_TENANT, 'fleet');
