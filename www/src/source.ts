/** Where a log comes from: a file of the person, or a URL of this same origin. */

export interface Source {
  readonly name: string;
  /** Opens it; `size` where it is known. Rejects with a message for the reader. */
  open(signal: AbortSignal): Promise<{ readonly stream: ReadableStream<Uint8Array>; readonly size?: number }>;
}

export function fileSource(file: File): Source {
  return { name: file.name, open: () => Promise.resolve({ stream: file.stream(), size: file.size }) };
}

/** @throws Error for a URL of another origin: a link must not make this page read from elsewhere */
export function urlSource(address: string): Source {
  const url = new URL(address, document.baseURI);
  if (url.origin !== location.origin || url.origin === 'null') {
    throw new Error(`${url.href} is on another site. This page only opens logs of its own address: download the file and drop it here.`);
  }
  return {
    name: decodeURIComponent(url.pathname.split('/').pop() ?? '') || url.pathname,
    async open(signal) {
      const response = await fetch(url, { signal });
      if (!response.ok || response.body === null) throw new Error(`${url.href} cannot be fetched: ${response.status} ${response.statusText}`);
      const length = Number(response.headers.get('content-length') ?? NaN);
      // The length of a compressed body is not that of the log.
      const known = Number.isFinite(length) && !response.headers.has('content-encoding');
      return { stream: response.body, ...(known && { size: length }) };
    },
  };
}
