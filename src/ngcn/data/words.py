"""Free text as features: the TF-IDF of its most frequent words."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import scipy.sparse as sp

MOST_WORDS = 500  # of a column, the most frequent ones
LEAST_CELLS = 2  # that a word is in


def learn(texts: pa.Array) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The vocabulary of a column, in alphabetical order, and the inverse document frequency of each word.

    Example:
        >>> learn(pa.array(["Steel and iron", "iron ore", "steel works"]))
        (('iron', 'steel'), (1.2876820724517808, 1.2876820724517808))
    """
    from sklearn.feature_extraction.text import TfidfVectorizer  # here: it takes a second to import

    vectorizer = TfidfVectorizer(min_df=LEAST_CELLS, max_features=MOST_WORDS)
    try:
        vectorizer.fit(texts.to_pylist())
    except ValueError:  # no words are left
        return (), ()
    return tuple(vectorizer.get_feature_names_out()), tuple(vectorizer.idf_.tolist())


def tf_idf(texts: pa.Array, vocabulary: Sequence[str], idf: Sequence[float]) -> sp.csr_array:
    """``(texts, words)`` TF-IDF, each row of length 1; a text without known words is a row of zeros.

    Example:
        >>> tf_idf(pa.array(["iron, iron and steel", None]), ["iron", "steel"], [1.0, 1.0]).toarray().round(2)
        array([[0.89, 0.45],
               [0.  , 0.  ]], dtype=float32)
    """
    import numpy as np
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(vocabulary=list(vocabulary), dtype=np.float32)
    vectorizer.idf_ = np.array(idf, np.float32)
    return sp.csr_array(vectorizer.transform(texts.fill_null("").to_pylist()))
