// Opens an EventSource and tells the test everything that it does, in order.
(key, url) => {
  const source = new EventSource(url, {withCredentials: true});
  const tell = (kind, event) => tellTheTest(JSON.stringify({
    key, kind, name: event.type, id: event.lastEventId, data: event.data, state: source.readyState, at: performance.now(),
  }));
  source.addEventListener('open', event => tell('open', event));
  source.addEventListener('error', event => tell('error', event));
  for (const name of [
    'message', 'stream.gap',
    'entity.create', 'entity.update', 'entity.delete', 'entity.leave',
    'created', 'updated', 'patched', 'deleted', 'restored', 'left',
  ]) source.addEventListener(name, event => tell('event', event));
  (window.followed ??= [])[key] = source;
}
