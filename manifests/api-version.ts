/** `{api_group}` of the specification. Every manifest and node configuration carries `apiVersion: svc.dev/v1`. */
const API_GROUP = 'svc.dev';
export const API_VERSION = `${API_GROUP}/v1` as const;
