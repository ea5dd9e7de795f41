/** The page forbids script URLs that no policy has looked at: this is the policy. */

interface Policy {
  createScriptURL(url: string): string;
}

interface Policies {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): Policy;
}

const policies = (globalThis as { trustedTypes?: Policies }).trustedTypes;
const policy = policies?.createPolicy('palimpsest-worker', {
  createScriptURL: (address) => {
    const url = new URL(address, document.baseURI);
    if (url.origin !== location.origin) throw new Error(`${url.href} is on another site`);
    return url.href;
  },
});

/** The URL of a worker of this site. */
export function workerUrl(url: string): string {
  return policy ? policy.createScriptURL(url) : url;
}
